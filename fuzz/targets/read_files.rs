//! Files of any bytes: an error, or an array whose indices and sizes are consistent.

#![no_main]

use bandsolve_io::{FileArray, Numbers, read_stream};
use libfuzzer_sys::fuzz_target;

/// The length of both parts of the numbers, which must be equal if they are complex.
fn length(values: &Numbers) -> usize {
    assert!(values.im.as_ref().is_none_or(|im| im.len() == values.re.len()));
    values.re.len()
}

fuzz_target!(|data: &[u8]| {
    let known = read_stream("fuzz", data, Some(data.len() as u64));
    let unknown = read_stream("fuzz", data, None);
    // The size only limits the memory.
    assert_eq!(known.is_ok(), unknown.is_ok(), "{:?} and {:?}", known.err(), unknown.err());
    match known.map(|contents| contents.array) {
        Ok(FileArray::Sparse(a)) => {
            assert!(a.rows.len() == length(&a.values) && a.cols.len() == a.rows.len());
            assert!(a.rows.iter().all(|i| (*i as usize) < a.n_rows) && a.cols.iter().all(|j| (*j as usize) < a.n_cols));
        }
        Ok(FileArray::DenseArray(a)) => assert_eq!(Some(length(&a.values)), a.n_rows.checked_mul(a.n_cols)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
