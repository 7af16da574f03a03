//! Checks of pointers and sizes from C, and conversion to slices.

use crate::status::{CallFailure, CallResult};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::buffer;
#[cfg(feature = "cuda")]
use bandsolve_gpu::{Device, DeviceSlice, DeviceSliceMut};
use bandsolve_kernel::memory::{Array, zeros};
use core::ffi::{CStr, c_char};
use core::ops::Range;
use core::slice;

/// Read a string of the caller. A null pointer gives `None`.
///
/// # Safety
/// `start` is null or a string with a zero at the end, which nobody writes for `'a`.
pub(crate) unsafe fn text<'a>(start: *const c_char) -> Option<&'a CStr> {
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) })
}

/// Convert a size that must not be negative.
pub(crate) fn size(name: &str, value: i64) -> CallResult<usize> {
    let wrong = if value < 0 { "expected 0 or more" } else { "more than can be addressed" };
    usize::try_from(value).map_err(|_| CallFailure::argument(format!("{name} is {value}, {wrong}")))
}

/// Multiply sizes to a number of elements of type `T` that fits in the address space.
pub(crate) fn elements<T>(what: &str, factors: &[usize]) -> CallResult<usize> {
    if factors.contains(&0) {
        return Ok(0);
    }
    let product = factors.iter().try_fold(1usize, |product, factor| product.checked_mul(*factor));
    let bytes = product.and_then(|product| product.checked_mul(size_of::<T>()));
    match (product, bytes) {
        (Some(product), Some(bytes)) if isize::try_from(bytes).is_ok() => Ok(product),
        _ => {
            let factors: Vec<_> = factors.iter().filter(|f| **f != 1).map(usize::to_string).collect();
            let factors = factors.join(" x ");
            Err(CallFailure::argument(format!("{what} would have {factors} elements, more than can be addressed")))
        }
    }
}

/// An array of the caller that is aligned, inside the address space, and not null unless it is empty.
#[derive(Debug)]
pub(crate) struct RawArray<T> {
    name: &'static str,
    start: *mut T,
    len: usize,
}

impl<T> RawArray<T> {
    /// Check the pointer. `len` comes from [`elements`].
    pub fn new(name: &'static str, start: *const T, len: usize) -> CallResult<Self> {
        let array = Self { name, start: start.cast_mut(), len };
        if len == 0 {
            return Ok(array);
        }
        if start.is_null() {
            return Err(CallFailure::argument(format!("{name} is null, expected {len} elements")));
        }
        if !start.is_aligned() {
            return Err(CallFailure::argument(format!("{name} is not aligned to {} bytes", align_of::<T>())));
        }
        if start.addr().checked_add(len * size_of::<T>()).is_none() {
            return Err(CallFailure::argument(format!(
                "{name} with {len} elements would exceed the address space; check the pointer and the sizes"
            )));
        }
        Ok(array)
    }

    /// Get the address range.
    pub fn place(&self) -> ArgumentPlace {
        let start = self.start.addr();
        ArgumentPlace { name: self.name, bytes: start..start + self.len * size_of::<T>() }
    }

    /// Whether both arrays start at the same element.
    pub fn begins_with(&self, other: &Self) -> bool {
        self.start == other.start
    }

    /// Borrow the array for reading.
    ///
    /// # Safety
    /// There are `len` elements, which nobody writes for `'a`.
    pub unsafe fn read<'a>(&self) -> &'a [T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: checked in `new`: not null, aligned, of a size that fits. The rest is the caller's promise.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }

    /// Borrow the array for writing.
    ///
    /// # Safety
    /// There are `len` elements, which nobody else reads or writes for `'a`.
    pub unsafe fn write<'a>(&self) -> &'a mut [T] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: checked in `new`: not null, aligned, of a size that fits. The rest is the caller's promise.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
    }
}

/// Arrays in the memory of a device. The host uses only their addresses.
#[cfg(feature = "cuda")]
impl<T: bytemuck::Pod> RawArray<T> {
    /// Borrow the array for reading on the device.
    ///
    /// # Safety
    /// There are `len` elements in the memory of `device`, which nobody writes for `'a`.
    pub unsafe fn read_on<'a>(&self, device: &'a Device) -> DeviceSlice<'a, T> {
        // SAFETY: aligned, as checked in `new`. The rest is the caller's promise.
        unsafe { DeviceSlice::from_raw(device, self.start.expose_provenance() as u64, self.len) }
    }

    /// Borrow the array for writing on the device.
    ///
    /// # Safety
    /// There are `len` elements in the memory of `device`, which nobody else reads or writes for `'a`.
    pub unsafe fn write_on<'a>(&self, device: &'a Device) -> DeviceSliceMut<'a, T> {
        // SAFETY: as above.
        unsafe { DeviceSliceMut::from_raw(device, self.start.expose_provenance() as u64, self.len) }
    }
}

/// Read the size of a structure of the caller from its first field. It must be at least the size that this library knows.
///
/// # Safety
/// `start` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn room<S>(name: &str, start: *const S) -> CallResult<usize> {
    // SAFETY: the caller's promise.
    unsafe { room_from(name, start, size_of::<S>()) }
}

/// Do the same as [`room`], for a structure that had `expected` bytes in the first version of the library. Later versions added fields at the
/// end.
///
/// # Safety
/// As [`room`].
pub(crate) unsafe fn room_from<S>(name: &str, start: *const S, expected: usize) -> CallResult<usize> {
    if start.is_null() || !start.is_aligned() {
        return Err(CallFailure::argument(format!("{name} is null or not aligned, expected a pointer to a structure")));
    }
    // SAFETY: the pointer is not null and aligned, and the caller has set the first field.
    let size = unsafe { start.cast::<usize>().read() };
    let path = core::any::type_name::<S>();
    if size < expected {
        let kind = path.rsplit("::").next().unwrap_or(path);
        let message = format!("{name}->size is {size}, expected sizeof({kind}), which is {expected}");
        return Err(CallFailure::argument(message));
    }
    Ok(size)
}

/// Write the part of a structure that fits in the memory of the caller.
///
/// # Safety
/// `to` is aligned and has room for `size` bytes.
pub(crate) unsafe fn write_part<S: Copy>(to: *mut S, value: &S, size: usize) {
    let bytes = size.min(size_of::<S>());
    // SAFETY: the caller's promise; `value` is a structure of this library, so it does not overlap.
    unsafe { core::ptr::copy_nonoverlapping(core::ptr::from_ref(value).cast::<u8>(), to.cast::<u8>(), bytes) }
}

/// The address range of an array.
#[derive(Debug, Clone)]
pub(crate) struct ArgumentPlace {
    pub name: &'static str,
    bytes: Range<usize>,
}

impl ArgumentPlace {
    /// Find the first of `others` that shares a byte with this range.
    pub fn overlapped<'p>(&self, others: &'p [ArgumentPlace]) -> Option<&'p ArgumentPlace> {
        let share = |other: &&ArgumentPlace| {
            let start = self.bytes.start.max(other.bytes.start);
            start < self.bytes.end.min(other.bytes.end)
        };
        others.iter().find(share)
    }
}

/// Return an error if one of `written` shares a byte with one of `others`, or with another written array.
pub(crate) fn apart(written: &[ArgumentPlace], others: &[&[ArgumentPlace]]) -> CallResult {
    for (k, array) in written.iter().enumerate() {
        let mut others = others.iter().copied().chain([&written[k + 1..]]);
        if let Some(other) = others.find_map(|others| array.overlapped(others)) {
            let message = format!("{} overlaps {}; pass arrays that do not overlap", array.name, other.name);
            return Err(CallFailure::argument(message));
        }
    }
    Ok(())
}

/// Allocate heap memory for `needed`.
pub(crate) fn heap(needed: StackReq) -> CallResult<Array<u8>> {
    buffer(needed).map_err(|_| CallFailure::out_of_memory(needed.unaligned_bytes_required()))
}

/// Get the number of bytes of a buffer, for any alignment.
pub(crate) fn scratch_bytes(needed: StackReq) -> CallResult<usize> {
    let bytes = needed.unaligned_bytes_required();
    if isize::try_from(bytes).is_ok() {
        return Ok(bytes);
    }
    Err(CallFailure::argument("the buffer would be larger than can be addressed; reduce the sizes".into()))
}

/// Write the size of a buffer to `out`.
///
/// # Safety
/// `out` is null, or may be written.
pub(crate) unsafe fn tell_size(needed: StackReq, out: *mut usize) -> CallResult {
    let out = RawArray::new("size", out, 1)?;
    let bytes = scratch_bytes(needed)?;
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = bytes };
    Ok(())
}

/// Run `work` with the buffer of the caller, or with heap memory.
///
/// # Safety
/// Nobody else uses the buffer.
pub(crate) unsafe fn in_scratch<R>(
    buffer: Option<RawArray<u8>>,
    needed: StackReq,
    work: impl FnOnce(&mut PodStack) -> R,
) -> CallResult<R> {
    if let Some(buffer) = buffer {
        // SAFETY: the caller's promise. Every byte value is valid, and solves write before they read.
        return Ok(work(PodStack::new(unsafe { buffer.write() })));
    }
    let bytes = scratch_bytes(needed)?;
    // Use large pages: random reads from small pages take several times as long.
    let mut memory = zeros::<u8>(bytes).ok_or_else(|| CallFailure::out_of_memory(bytes))?;
    Ok(work(PodStack::new(&mut memory)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_that_do_not_fit() {
        assert_eq!(elements::<f64>("x", &[3, 4]).unwrap(), 12);
        assert_eq!(elements::<f64>("x", &[usize::MAX, 0, usize::MAX]).unwrap(), 0);
        assert!(elements::<f64>("x", &[usize::MAX, 2]).is_err());
        // isize::MAX bytes is the most that a slice may have.
        assert!(elements::<f64>("x", &[1 << 60]).is_err());
        assert!(elements::<f64>("x", &[(1 << 60) - 1]).is_ok());
        assert!(elements::<f32>("x", &[1 << 60]).is_ok());
    }

    #[test]
    fn overlaps() {
        let numbers = [0.0f64; 10];
        let place = |first: usize, len| RawArray::new("x", &numbers[first], len).unwrap().place();
        assert!(place(0, 5).overlapped(&[place(5, 5)]).is_none());
        assert!(place(0, 5).overlapped(&[place(5, 5), place(4, 1)]).is_some());
        assert!(place(2, 0).overlapped(&[place(0, 10)]).is_none());
        assert!(place(2, 1).overlapped(&[place(0, 10)]).is_some());
    }

    #[test]
    fn pointers() {
        let numbers = [0.0f64; 2];
        let odd = (&raw const numbers).cast::<u8>().wrapping_add(4).cast::<f64>();
        let message = |pointer, len| RawArray::new("sub", pointer, len).map(|_| ()).map_err(|f| f.message);
        assert_eq!(message(core::ptr::null(), 0), Ok(()));
        assert_eq!(message(core::ptr::null(), 3), Err("sub is null, expected 3 elements".into()));
        assert_eq!(message(odd, 1), Err("sub is not aligned to 8 bytes".into()));
        assert!(message(numbers.as_ptr(), (1 << 60) - 1).is_ok());
        assert!(message(usize::MAX.wrapping_sub(15) as *const f64, 4).is_err());
    }
}
