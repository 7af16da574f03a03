//! The program `bandsolve`.
fn main() {}
