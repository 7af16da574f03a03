//! Fast direct solvers for Poisson and Helmholtz problems on boxes.

mod methods;
