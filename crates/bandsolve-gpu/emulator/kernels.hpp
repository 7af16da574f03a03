// The kernels of one number type as host functions. This file is compiled for each type with two macros. INSTANCES: a
// file with the lines of instances.h for this type. TYPE: the name of the type.
#include "emulator.hpp"

#include "../kernels/kernels.cu"

#undef RPTS
#undef RESIDUAL
#undef CORRECT
#undef BATCH
#undef FACTORED
#undef SPARSE
#undef CARD
#undef SCAN
#undef CYCLIC
#undef PRODUCT
#undef LARGEST
#undef VECTORS
#undef GRAPH
#undef CONFIRM
#undef FOREST
#undef DIAGONAL
#undef ROUNDED
#undef TRANSFORM
#undef BOX
#undef SWEEP
#undef DENSE
#define RPTS(suffix, ...) KERNEL(reduce_##suffix) KERNEL(substitute_##suffix) KERNEL(finish_##suffix)
#define RESIDUAL(suffix, ...) KERNEL(residual_##suffix) KERNEL(repair_##suffix)
#define CORRECT(suffix, ...) KERNEL(correct_##suffix) KERNEL(summarize_##suffix)
#define FACTORED(suffix, ...) \
  KERNEL(factor_##suffix) KERNEL(reducefactored_##suffix) KERNEL(substitutefactored_##suffix)
#define SPARSE(suffix, ...) KERNEL(check_##suffix) KERNEL(scatter_##suffix) KERNEL(prune_##suffix)
#define CARD(suffix, ...) KERNEL(card_##suffix)
#define SCAN(suffix, ...) KERNEL(ludown_##suffix) KERNEL(pairsdown_##suffix) KERNEL(up_##suffix)
#define CYCLIC(suffix, ...) KERNEL(cyclic_##suffix) KERNEL(spikereduce_##suffix) KERNEL(spikesubstitute_##suffix)
#define PRODUCT(suffix, ...) KERNEL(product_##suffix) KERNEL(join_##suffix)
#define LARGEST(suffix, ...) KERNEL(largest_##suffix)
#define VECTORS(suffix, ...) \
  KERNEL(combine_##suffix) KERNEL(orthogonalize_##suffix) KERNEL(rotate_##suffix) KERNEL(gather_##suffix)
#define GRAPH(suffix, ...) KERNEL(weights_##suffix)
#define CONFIRM(suffix, ...) KERNEL(confirm_##suffix)
#define FOREST(suffix, ...)                                                   \
  KERNEL(links_##suffix) KERNEL(weakest_##suffix) KERNEL(farthest_##suffix) \
  KERNEL(breakcycles_##suffix) KERNEL(pathlengths_##suffix) KERNEL(pathorder_##suffix) \
  KERNEL(weaken_##suffix) KERNEL(neighbors_##suffix) KERNEL(composed_##suffix)
#define DIAGONAL(suffix, ...) KERNEL(diagonal_##suffix) KERNEL(productfactor_##suffix)
#define ROUNDED(suffix, ...) KERNEL(exponent_##suffix) KERNEL(rounded_##suffix) KERNEL(widened_##suffix)
#define TRANSFORM(suffix, ...) KERNEL(transform_##suffix)
#define SWEEP(suffix, ...) KERNEL(sweepfactors_##suffix) KERNEL(sweep_##suffix)
#define DENSE(suffix, ...)                                                             \
  KERNEL(rowsizes_##suffix) KERNEL(scaledblocks_##suffix) KERNEL(copyblocks_##suffix)  \
  KERNEL(foldblocks_##suffix) KERNEL(dropblocks_##suffix) KERNEL(checkpivots_##suffix) \
  KERNEL(scalecolumns_##suffix) KERNEL(blockerrors_##suffix) KERNEL(blockresidual_##suffix)
#define BOX(suffix, ...) KERNEL(boxresidual_##suffix) KERNEL(boxshift_##suffix)
#define BATCH(suffix, ...) KERNEL(interleaved_##suffix) KERNEL(alone_##suffix)
EMULATOR_LAUNCH(TYPE) {
#include INSTANCES
  return 1;
}
