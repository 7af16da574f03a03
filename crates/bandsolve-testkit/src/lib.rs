//! Matrix generators, oracles and the conformance suite of bandsolve.
