// All kernels, for the emulator.
KERNEL(reduce_f32) KERNEL(reduce_f64) KERNEL(reduce_c32) KERNEL(reduce_c64)
KERNEL(substitute_f32) KERNEL(substitute_f64) KERNEL(substitute_c32) KERNEL(substitute_c64)
KERNEL(finish_f32) KERNEL(finish_f64) KERNEL(finish_c32) KERNEL(finish_c64)
KERNEL(residual_f32) KERNEL(residual_f64) KERNEL(residual_c32) KERNEL(residual_c64)
KERNEL(correct_f32) KERNEL(correct_f64) KERNEL(correct_c32) KERNEL(correct_c64)
