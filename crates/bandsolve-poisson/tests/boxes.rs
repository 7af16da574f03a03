//! The tests of the public interface in one program, except the test of failing allocations.

mod cases {
    mod behaviour;
    mod boundaries;
    mod condition;
    mod convergence;
    mod cyclic;
    mod golden;
    mod pencils;
    mod robin;
}
mod common;
