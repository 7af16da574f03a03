//! Vectors of Krylov methods on a device: linear combinations and inner products.

use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::launch::Arguments;
use bandsolve::memory::{reserved, zeroed};
use bandsolve::vectors::{MOST_TERMS, PIECE, narrow};
use bandsolve::{Complex64, Error, Result};
use bandsolve_kernel::view::View;

/// Several vectors of the same length in one array on a device, with operations for Krylov methods.
///
/// Vectors are numbered from 0. Inner products have the pieces and the order of sums of [`Reducer`](bandsolve::vectors::Reducer): each piece of 1024
/// elements gives a sum in double precision, and these sums are added in order. The results are therefore the same in every run, bit for bit. They have the bits of
/// the CPU, except in `f64`, where the CPU sums in an order that depends on its instruction set.
///
/// # Examples
/// ```
/// # #[cfg(feature = "emulator")] {
/// use bandsolve::Complex64;
/// use bandsolve_gpu::{Device, DeviceVectors, Emulation};
/// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
/// let mut v = DeviceVectors::<f64>::new(&device, 2, 3)?;
/// v.vector_mut(0).write(&[1.0, 2.0])?;
/// v.vector_mut(1).write(&[10.0, 10.0])?;
/// // v₂ = 3·v₀ + v₁, v₂·v₂ and v₀·v₁
/// let mut dots = [Complex64::ZERO; 2];
/// v.combine(2, &[(3.0.into(), 0), (1.0.into(), 1)], &[(2, 2), (0, 1)], &mut dots)?;
/// assert_eq!(v.vector(2).download()?, [13.0, 16.0]);
/// assert_eq!(dots.map(|dot| dot.re), [425.0, 30.0]);
/// # }
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceVectors<T> {
    device: Device,
    n: usize,
    vectors: DeviceVec<T>,
    /// The sums of pieces, and of all pieces: real and imaginary parts of each inner product.
    partial: DeviceVec<f64>,
    sums: DeviceVec<f64>,
    /// The number of thread blocks that have written their sums.
    arrived: DeviceVec<u32>,
}

/// Maximum number of inner products (`vectors.cuh`).
const MOST_DOTS: usize = 8;

/// A combination in the form that the kernel uses.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct CombineArguments<T> {
    n: u32,
    terms: u32,
    dots: u32,
    arrived: u64,
    factors: [T; MOST_TERMS],
    vectors: [u64; MOST_TERMS],
    out: u64,
    left: [u64; MOST_DOTS],
    right: [u64; MOST_DOTS],
    partial: u64,
    sums: u64,
}

/// A pass of Gram–Schmidt in the form that the kernel uses. Address 0 stands for an absent array.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct GramSchmidtArguments {
    n: u32,
    count: u32,
    dots: u32,
    arrived: u64,
    stride: u64,
    basis: u64,
    dual: u64,
    w: u64,
    factors: u64,
    partial: u64,
    sums: u64,
}

/// What a pass of Gram–Schmidt multiplies with the new w.
enum PassDots {
    Nothing,
    /// The vectors of a basis, from this number on.
    Basis(usize),
    Itself,
}

/// The rotation of a basis in the form that the kernel uses.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct RotationArguments {
    n: u32,
    before: u32,
    after: u32,
    rows: u32,
    stride: u64,
    basis: u64,
    q: u64,
}

/// Maximum number of rows of a tile of a rotation, as many as a warp has lanes.
const ROTATED_ROWS: usize = 32;

impl<T: DeviceScalar> DeviceVectors<T> {
    /// Maximum number of terms of a combination.
    pub const MAX_TERMS: usize = MOST_TERMS;
    /// Maximum number of inner products of a combination.
    pub const MAX_DOTS: usize = MOST_DOTS;

    /// Allocate `count` vectors of length n. Their elements are zero.
    ///
    /// # Errors
    /// [`Error::Shape`] if n exceeds 32 bits; [`Error::Device`].
    pub fn new(device: &Device, n: usize, count: usize) -> Result<Self> {
        let most = u32::MAX as usize - PIECE;
        if n > most {
            return Err(Error::Shape { what: "a vector on a device", expected: most, got: n });
        }
        Ok(Self {
            device: device.clone(),
            n,
            vectors: device.zeros(n * count)?,
            partial: device.zeros(2 * MOST_DOTS.max(count) * n.div_ceil(PIECE))?,
            sums: device.zeros((2 * MOST_DOTS).max(4 * count + 2))?,
            arrived: device.zeros(1)?,
        })
    }

    /// Borrow a vector for reading.
    ///
    /// # Panics
    /// If there is no vector with this number.
    pub fn vector(&self, number: usize) -> DeviceSlice<'_, T> {
        self.vectors.slice(number * self.n..(number + 1) * self.n)
    }

    /// Borrow a vector for writing.
    ///
    /// # Panics
    /// If there is no vector with this number.
    pub fn vector_mut(&mut self, number: usize) -> DeviceSliceMut<'_, T> {
        self.vectors.slice_mut(number * self.n..(number + 1) * self.n)
    }

    /// Borrow a vector for reading and another one for writing, for example as x and y of a product.
    ///
    /// # Panics
    /// If the numbers are equal, or if there is no vector with one of them.
    pub fn pair(&mut self, read: usize, write: usize) -> (DeviceSlice<'_, T>, DeviceSliceMut<'_, T>) {
        assert!(read != write, "vector {read} cannot be read and written at the same time");
        let [read, write] = [read, write].map(|number| self.vector(number));
        // SAFETY: the vectors are different parts of an array, which both results borrow exclusively.
        let write = unsafe { DeviceSliceMut::from_raw(write.device(), write.address(), write.len()) };
        (read, write)
    }

    /// Borrow two vectors for reading and a third one for writing.
    ///
    /// # Panics
    /// If the third is one of the others, or if there is no vector with one of the numbers.
    pub(crate) fn triple(
        &mut self,
        read: [usize; 2],
        write: usize,
    ) -> ([DeviceSlice<'_, T>; 2], DeviceSliceMut<'_, T>) {
        assert!(!read.contains(&write), "vector {write} cannot be read and written at the same time");
        let (read, write) = (read.map(|number| self.vector(number)), self.vector(write));
        // SAFETY: see `pair`.
        let write = unsafe { DeviceSliceMut::from_raw(write.device(), write.address(), write.len()) };
        (read, write)
    }

    /// Compute a linear combination, then inner products, in one launch.
    ///
    /// ```text
    /// v_out ← Σ c·v   over the pairs (c, v) of `terms`, from left to right
    /// sums  = aᴴ·b    for each pair (a, b) of `dots`
    /// ```
    ///
    /// Terms and inner products can use `out`: terms its old elements, inner products its new ones. Without terms, `out` does not change. In real
    /// vectors, the imaginary parts of factors are dropped. The host waits for the device if there are inner products.
    ///
    /// # Shapes
    /// `sums`: one element for each pair of `dots`.
    ///
    /// # Cost
    /// Reads each vector of a term once and writes `out` once. Each inner product reads two vectors.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::Device`].
    ///
    /// # Panics
    /// If there are more than [`MAX_TERMS`](Self::MAX_TERMS) terms or [`MAX_DOTS`](Self::MAX_DOTS) inner products, or if there is no vector with one of
    /// the numbers.
    pub fn combine(
        &mut self,
        out: usize,
        terms: &[(Complex64, usize)],
        dots: &[(usize, usize)],
        sums: &mut [Complex64],
    ) -> Result<()> {
        check_len("sums", dots.len(), sums.len())?;
        sums.fill(Complex64::ZERO);
        let address = |number: usize| self.vector(number).address();
        let (mut factors, mut vectors) = ([T::ZERO; MOST_TERMS], [0; MOST_TERMS]);
        for (k, (factor, vector)) in terms.iter().enumerate() {
            (factors[k], vectors[k]) = (narrow(*factor), address(*vector));
        }
        let [mut left, mut right] = [[0; MOST_DOTS]; 2];
        for (k, (a, b)) in dots.iter().enumerate() {
            (left[k], right[k]) = (address(*a), address(*b));
        }
        let arguments = CombineArguments {
            n: self.n as u32,
            terms: terms.len() as u32,
            dots: dots.len() as u32,
            arrived: self.arrived.slice(..).address(),
            factors,
            vectors,
            out: address(out),
            left,
            right,
            partial: self.partial.slice(..).address(),
            sums: self.sums.slice(..).address(),
        };
        let pieces = self.n.div_ceil(PIECE);
        if pieces == 0 || (terms.is_empty() && dots.is_empty()) {
            return Ok(());
        }
        // The terms of an inner product: two of the real part and the imaginary part, or only one.
        let each = if T::COMPLEX { 3 } else { 1 };
        let shared = if dots.is_empty() { 0 } else { each * PIECE * size_of::<f64>() };
        let arguments = Arguments::default().with(arguments);
        // SAFETY: these are the kernel's arguments. The vectors are parts of the array, and `new` has allocated the sums.
        unsafe { arguments.launch(&self.device, &format!("combine_{}", T::NAME), pieces, shared) }?;
        if !dots.is_empty() {
            self.sums.slice(..2 * dots.len()).read(bytemuck::cast_slice_mut(sums))?;
        }
        Ok(())
    }

    /// Make w orthogonal to `h.len()` vectors v₀, v₁, … of an orthonormal basis, and return ‖w‖₂².
    ///
    /// ```text
    /// hₖ = uₖᴴ·w,   w ← w − Σ hₖ·vₖ   with U = V, or U = B·V if V is orthonormal in the inner product xᴴ·B·y
    /// ```
    ///
    /// Both steps are done twice (classical Gram–Schmidt). `again` returns the h of the second time. `bases` are the numbers of v₀ and u₀; the other
    /// vectors of each basis follow. The results have the bits of several calls of [`combine`](Self::combine).
    ///
    /// # Shapes
    /// `again`: as many elements as h.
    ///
    /// # Cost
    /// Three launches, or one without vectors. They read each vector three times, or twice if U differs from V, and w three times. The host waits once, for all
    /// sums.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::Device`].
    ///
    /// # Panics
    /// If there is no vector with one of the numbers.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve::Complex64;
    /// use bandsolve_gpu::{Device, DeviceVectors, Emulation};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let mut v = DeviceVectors::<f64>::new(&device, 2, 2)?;
    /// v.vector_mut(0).write(&[0.6, 0.8])?;
    /// v.vector_mut(1).write(&[5.0, 0.0])?;
    /// let [mut h, mut again] = [[Complex64::ZERO]; 2];
    /// let squared = v.orthogonalize([0, 0], 1, &mut h, &mut again)?;
    /// assert!((h[0].re - 3.0).abs() < 1e-15 && again[0].re.abs() < 1e-15 && (squared - 16.0).abs() < 1e-14);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn orthogonalize(
        &mut self,
        bases: [usize; 2],
        w: usize,
        h: &mut [Complex64],
        again: &mut [Complex64],
    ) -> Result<f64> {
        let (count, [basis, dual]) = (h.len(), bases);
        check_len("again", count, again.len())?;
        if count > 0 {
            self.pass((w, basis, count), None, PassDots::Basis(dual))?;
            self.pass((w, basis, count), Some(0), PassDots::Basis(dual))?;
        }
        self.pass((w, basis, count), (count > 0).then_some(1), PassDots::Itself)?;
        let mut sums: Vec<Complex64> = zeroed(2 * count + 1)?;
        if self.n > 0 {
            self.sums.slice(..4 * count + 2).read(bytemuck::cast_slice_mut(&mut sums))?;
        }
        h.copy_from_slice(&sums[..count]);
        again.copy_from_slice(&sums[count..2 * count]);
        Ok(sums[2 * count].re)
    }

    /// Compute y ← y − Σ cₖ·vₖ with `c.len()` vectors, from number `basis` on, in one launch.
    ///
    /// # Cost
    /// Reads each vector once, and reads and writes y once.
    ///
    /// # Errors
    /// [`Error::Device`].
    ///
    /// # Panics
    /// If there is no vector with one of the numbers.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DeviceVectors, Emulation};
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let mut v = DeviceVectors::<f64>::new(&device, 1, 3)?;
    /// (0..3).try_for_each(|k| v.vector_mut(k).write(&[k as f64]))?;
    /// // v₀ ← v₀ − 3·v₁ − 4·v₂
    /// v.subtract_combination(0, 1, &[3.0.into(), 4.0.into()])?;
    /// assert_eq!(v.vector(0).download()?, [-11.0]);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn subtract_combination(&mut self, y: usize, basis: usize, c: &[Complex64]) -> Result<()> {
        if c.is_empty() {
            return Ok(());
        }
        self.sums.slice_mut(..2 * c.len()).write(bytemuck::cast_slice(c))?;
        self.pass((y, basis, c.len()), Some(0), PassDots::Nothing)
    }

    /// A pass over w and `count` vectors from `basis` on: subtract the combination by the inner products of pass number `by`, then compute inner products.
    /// The inner products of pass k are behind those of the passes before.
    fn pass(&mut self, (w, basis, count): (usize, usize, usize), by: Option<usize>, dots: PassDots) -> Result<()> {
        let (pieces, sums) = (self.n.div_ceil(PIECE), |pass: usize| self.sums.slice(2 * pass * count..).address());
        if pieces == 0 {
            return Ok(());
        }
        let first = |number: usize| self.vectors.slice(number * self.n..(number + count) * self.n).address();
        let (dots, dual) = match dots {
            PassDots::Nothing => (0, 0),
            PassDots::Basis(dual) => (count, first(dual)),
            PassDots::Itself => (1, 0),
        };
        let arguments = GramSchmidtArguments {
            n: self.n as u32,
            count: count as u32,
            dots: dots as u32,
            arrived: self.arrived.slice(..).address(),
            stride: self.n as u64,
            basis: first(basis),
            dual,
            w: self.vector(w).address(),
            factors: by.map_or(0, sums),
            partial: self.partial.slice(..).address(),
            sums: sums(by.map_or(0, |by| by + 1)),
        };
        // A piece of w, and later sums of pieces.
        let (shared, arguments) = (PIECE * size_of::<T>().max(size_of::<f64>()), Arguments::default().with(arguments));
        // SAFETY: these are the kernel's arguments. The vectors are parts of the array, and `new` has allocated the sums.
        unsafe { arguments.launch(&self.device, &format!("orthogonalize_{}", T::NAME), pieces, shared) }
    }

    /// Replace the vectors of a basis V, from number `basis` on, by V·Q, in one launch.
    ///
    /// V has a vector for each row of Q, and V·Q one for each column. The other vectors of V do not change.
    ///
    /// # Cost
    /// Reads each vector of V once, and writes each vector of V·Q once. The memory of a thread block on chip limits the number of rows of Q: a row of V must fit
    /// into it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a row of V does not fit; [`Error::Device`].
    ///
    /// # Panics
    /// If Q has more columns than rows, or if there is no vector with one of the numbers.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "emulator")] {
    /// use bandsolve_gpu::{Device, DeviceVectors, Emulation};
    /// use bandsolve_kernel::view::View;
    /// let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
    /// let mut v = DeviceVectors::<f64>::new(&device, 1, 2)?;
    /// v.vector_mut(0).write(&[3.0])?;
    /// v.vector_mut(1).write(&[5.0])?;
    /// // (3 5)·(2 1)ᵀ
    /// v.rotate(0, View::new(&[2.0.into(), 1.0.into()], 2, 1))?;
    /// assert_eq!(v.vector(0).download()?, [11.0]);
    /// # }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn rotate(&mut self, basis: usize, q: View<'_, Complex64>) -> Result<()> {
        let (before, after) = (q.nrows(), q.ncols());
        assert!(after <= before, "a basis of {before} vectors is rotated to at most as many");
        let vectors = self.vectors.slice(basis * self.n..(basis + before) * self.n);
        if self.n == 0 || after == 0 {
            return Ok(());
        }
        let (bytes, room) = (before * size_of::<T>(), self.device.limits().shared_per_block);
        let rows = core::iter::successors(Some(ROTATED_ROWS), |rows| (*rows > 1).then_some(rows / 2));
        let Some(rows) = rows.into_iter().find(|rows| rows * bytes <= room) else {
            let what = "a basis of so many vectors; search for fewer eigenvalues, or with a smaller basis";
            return Err(Error::Unsupported { method: "the rotation of a basis on a device", what });
        };
        let mut numbers: Vec<T> = reserved(before * after)?;
        (0..after).for_each(|j| numbers.extend(q.column(j).iter().map(|q| narrow::<T>(*q))));
        let numbers = self.device.upload(&numbers)?;
        let arguments = RotationArguments {
            n: self.n as u32,
            before: before as u32,
            after: after as u32,
            rows: rows as u32,
            stride: self.n as u64,
            basis: vectors.address(),
            q: numbers.slice(..).address(),
        };
        let (blocks, arguments) = (self.n.div_ceil(rows), Arguments::default().with(arguments));
        // SAFETY: these are the kernel's arguments, and the vectors are parts of the array.
        unsafe { arguments.launch(&self.device, &format!("rotate_{}", T::NAME), blocks, rows * bytes) }
    }
}
