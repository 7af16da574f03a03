//! Every method, for every number type, through the one conformance suite.

use bandsolve::{Complex32, Complex64, Method};
use bandsolve_testkit::{conformance, conformance_banded, conformance_batch};

conformance!(rpts_f64, f64, |plan| plan.method(Method::Rpts));
conformance!(rpts_f32, f32, |plan| plan.method(Method::Rpts));
conformance!(rpts_c64, Complex64, |plan| plan.method(Method::Rpts));
conformance!(rpts_c32, Complex32, |plan| plan.method(Method::Rpts));

conformance!(pivoted_f64, f64, |plan| plan.method(Method::Pivoted));
conformance!(pivoted_f32, f32, |plan| plan.method(Method::Pivoted));
conformance!(pivoted_c64, Complex64, |plan| plan.method(Method::Pivoted));
conformance!(pivoted_c32, Complex32, |plan| plan.method(Method::Pivoted));

conformance!(thomas_f64, f64, |plan| plan.method(Method::Thomas));
conformance!(thomas_f32, f32, |plan| plan.method(Method::Thomas));
conformance!(thomas_c64, Complex64, |plan| plan.method(Method::Thomas));
conformance!(thomas_c32, Complex32, |plan| plan.method(Method::Thomas));

conformance!(diagonal_pivoting_f64, f64, |plan| plan.method(Method::DiagonalPivoting));
conformance!(diagonal_pivoting_f32, f32, |plan| plan.method(Method::DiagonalPivoting));
conformance!(diagonal_pivoting_c64, Complex64, |plan| plan.method(Method::DiagonalPivoting));
conformance!(diagonal_pivoting_c32, Complex32, |plan| plan.method(Method::DiagonalPivoting));

conformance!(spike_diagonal_pivoting_f64, f64, |plan| plan.method(Method::SpikeDiagonalPivoting));
conformance!(spike_diagonal_pivoting_f32, f32, |plan| plan.method(Method::SpikeDiagonalPivoting));
conformance!(spike_diagonal_pivoting_c64, Complex64, |plan| plan.method(Method::SpikeDiagonalPivoting));
conformance!(spike_diagonal_pivoting_c32, Complex32, |plan| plan.method(Method::SpikeDiagonalPivoting));

conformance!(spike_thomas_f64, f64, |plan| plan.method(Method::SpikeThomas));
conformance!(spike_thomas_f32, f32, |plan| plan.method(Method::SpikeThomas));
conformance!(spike_thomas_c64, Complex64, |plan| plan.method(Method::SpikeThomas));
conformance!(spike_thomas_c32, Complex32, |plan| plan.method(Method::SpikeThomas));

conformance!(spike_truncated_f64, f64, |plan| plan.method(Method::SpikeTruncated));
conformance!(spike_truncated_f32, f32, |plan| plan.method(Method::SpikeTruncated));
conformance!(spike_truncated_c64, Complex64, |plan| plan.method(Method::SpikeTruncated));
conformance!(spike_truncated_c32, Complex32, |plan| plan.method(Method::SpikeTruncated));

conformance!(spike_qr_f64, f64, |plan| plan.method(Method::SpikeQr));
conformance!(spike_qr_f32, f32, |plan| plan.method(Method::SpikeQr));
conformance!(spike_qr_c64, Complex64, |plan| plan.method(Method::SpikeQr));
conformance!(spike_qr_c32, Complex32, |plan| plan.method(Method::SpikeQr));

conformance!(spike_cr_f64, f64, |plan| plan.method(Method::SpikeCr));
conformance!(spike_cr_f32, f32, |plan| plan.method(Method::SpikeCr));
conformance!(spike_cr_c64, Complex64, |plan| plan.method(Method::SpikeCr));
conformance!(spike_cr_c32, Complex32, |plan| plan.method(Method::SpikeCr));

conformance!(parallel_diagonal_pivoting_f64, f64, |plan| plan.method(Method::ParallelDiagonalPivoting));
conformance!(parallel_diagonal_pivoting_f32, f32, |plan| plan.method(Method::ParallelDiagonalPivoting));
conformance!(parallel_diagonal_pivoting_c64, Complex64, |plan| plan.method(Method::ParallelDiagonalPivoting));
conformance!(parallel_diagonal_pivoting_c32, Complex32, |plan| plan.method(Method::ParallelDiagonalPivoting));

conformance!(cf_lu_f64, f64, |plan| plan.method(Method::CfLu));
conformance!(cf_lu_f32, f32, |plan| plan.method(Method::CfLu));
conformance!(cf_lu_c64, Complex64, |plan| plan.method(Method::CfLu));
conformance!(cf_lu_c32, Complex32, |plan| plan.method(Method::CfLu));

conformance!(cr_f64, f64, |plan| plan.method(Method::Cr));
conformance!(cr_f32, f32, |plan| plan.method(Method::Cr));
conformance!(cr_c64, Complex64, |plan| plan.method(Method::Cr));
conformance!(cr_c32, Complex32, |plan| plan.method(Method::Cr));

conformance!(tricr_f64, f64, |plan| plan.method(Method::Tricr));
conformance!(tricr_f32, f32, |plan| plan.method(Method::Tricr));
conformance!(tricr_c64, Complex64, |plan| plan.method(Method::Tricr));
conformance!(tricr_c32, Complex32, |plan| plan.method(Method::Tricr));

conformance!(pcr_f64, f64, |plan| plan.method(Method::Pcr));
conformance!(pcr_f32, f32, |plan| plan.method(Method::Pcr));
conformance!(pcr_c64, Complex64, |plan| plan.method(Method::Pcr));
conformance!(pcr_c32, Complex32, |plan| plan.method(Method::Pcr));

conformance!(adaptive_cr_f64, f64, |plan| plan.method(Method::AdaptiveCr));
conformance!(adaptive_cr_f32, f32, |plan| plan.method(Method::AdaptiveCr));
conformance!(adaptive_cr_c64, Complex64, |plan| plan.method(Method::AdaptiveCr));
conformance!(adaptive_cr_c32, Complex32, |plan| plan.method(Method::AdaptiveCr));

conformance!(auto_f64, f64, |plan| plan);
conformance!(auto_f32, f32, |plan| plan);
conformance!(auto_c64, Complex64, |plan| plan);
conformance!(auto_c32, Complex32, |plan| plan);

conformance_banded!(banded_auto_f64, f64, |plan| plan);
conformance_banded!(banded_auto_f32, f32, |plan| plan);
conformance_banded!(banded_auto_c64, Complex64, |plan| plan);
conformance_banded!(banded_auto_c32, Complex32, |plan| plan);

conformance_banded!(banded_pivoted_f64, f64, |plan| plan.method(Method::Pivoted));
conformance_banded!(banded_pivoted_f32, f32, |plan| plan.method(Method::Pivoted));
conformance_banded!(banded_pivoted_c64, Complex64, |plan| plan.method(Method::Pivoted));
conformance_banded!(banded_pivoted_c32, Complex32, |plan| plan.method(Method::Pivoted));

conformance_banded!(banded_rpts_f64, f64, |plan| plan.method(Method::Rpts));
conformance_banded!(banded_rpts_f32, f32, |plan| plan.method(Method::Rpts));
conformance_banded!(banded_rpts_c64, Complex64, |plan| plan.method(Method::Rpts));
conformance_banded!(banded_rpts_c32, Complex32, |plan| plan.method(Method::Rpts));

conformance_banded!(banded_spike_f64, f64, |plan| plan.method(Method::Spike));
conformance_banded!(banded_spike_f32, f32, |plan| plan.method(Method::Spike));
conformance_banded!(banded_spike_c64, Complex64, |plan| plan.method(Method::Spike));
conformance_banded!(banded_spike_c32, Complex32, |plan| plan.method(Method::Spike));

conformance_batch!(batch_f64, f64, |plan| plan);
conformance_batch!(batch_f32, f32, |plan| plan);
conformance_batch!(batch_c64, Complex64, |plan| plan);
conformance_batch!(batch_c32, Complex32, |plan| plan);
