//! The checks with threads as ranks.

mod common;

use bandsolve_mpi::on_threads;

#[test]
fn all_checks_on_threads() {
    for size in [1, 2, 3, 4, 7] {
        on_threads(size, |ranks| {
            for (name, check) in common::CHECKS {
                check(ranks);
                let _ = name;
            }
        });
    }
}
