//! Vectors of Krylov methods on a device: linear combinations and inner products.

use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, check_len};
use crate::launch::Arguments;
use bandsolve::vectors::{MOST_TERMS, PIECE, narrow};
use bandsolve::{Complex64, Error, Result};

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
            partial: device.zeros(2 * MOST_DOTS * n.div_ceil(PIECE))?,
            sums: device.zeros(2 * MOST_DOTS)?,
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
}
