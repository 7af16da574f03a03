//! Parts of the implementation of `Lanes` that registers of all processors share: only the names of the intrinsics differ.

/// The operators.
macro_rules! operators {
    ($name:ident, $add:ident, $sub:ident, $mul:ident) => {
        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: compiled into a function that has the instruction.
                Self(unsafe { $add(self.0, other.0) })
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: compiled into a function that has the instruction.
                Self(unsafe { $sub(self.0, other.0) })
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: compiled into a function that has the instruction.
                Self(unsafe { $mul(self.0, other.0) })
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::splat(-0.0) - self
            }
        }
    };
}

/// The methods of [`Lanes`] that differ only in the name of the intrinsic.
macro_rules! common {
    ($real:ty, $w:literal, $set1:ident, $load:ident, $store:ident, $div:ident, $sqrt:ident, $max:ident,
     $min:ident) => {
        type Real = $real;
        const W: usize = $w;
        #[inline(always)]
        fn splat(x: $real) -> Self {
            // SAFETY: compiled into a function that has the instruction (so below).
            Self(unsafe { $set1(x) })
        }
        #[inline(always)]
        unsafe fn load(p: *const $real) -> Self {
            // SAFETY: the caller's promise.
            Self(unsafe { $load(p) })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut $real) {
            // SAFETY: the caller's promise.
            unsafe { $store(p, self.0) }
        }
        #[inline(always)]
        fn recip(self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $div($set1(1.0), self.0) })
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $sqrt(self.0) })
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $max(self.0, other.0) })
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $min(self.0, other.0) })
        }
    };
}

/// The methods that read exponents as integers.
macro_rules! bits {
    ($cast:ident, $uncast:ident, $and:ident, $sub:ident, $set1:ident, $exponent:literal, $normal:literal) => {
        #[inline(always)]
        fn equilibrate(self) -> Self {
            let e = self.max(Self::splat(<Self::Real as RealScalar>::MIN_POSITIVE));
            // SAFETY: as in `splat`.
            Self(unsafe { $uncast($sub($set1($exponent), $and($cast(e.0), $set1($exponent)))) })
        }
        #[inline(always)]
        fn normalizer(self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $uncast($sub($set1($normal), $and($cast(self.0), $set1($exponent)))) })
        }
        #[inline(always)]
        fn log_gap(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $uncast($sub($cast(self.0), $cast(other.0))) })
        }
    };
}

pub(super) use {bits, common, operators};
