//! Operations on batches of dense blocks that wait on a stream of an emulated device, by the dense kernels of the CPU.

use super::library::at;
use crate::dense::{BlockFactors, BlockProduct, ListedBlocks, ProductResult, SpacedBlocks};
use bandsolve::distributed::{DenseLu, Team};
use bandsolve::{Complex32, Complex64, Scalar, Simd};
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::view::{View, ViewMut};

/// An operation on batches of blocks that waits on a stream.
pub struct QueuedBatch {
    pub number: &'static str,
    pub operation: BatchOperation,
}

/// An operation and its batches.
pub enum BatchOperation {
    Product(BlockProduct),
    Factor(BlockFactors),
    Solve { factors: BlockFactors, transposed: bool, rhs: ListedBlocks, columns: usize },
}

impl QueuedBatch {
    /// Whether the operation uses an address for which `inside` is true.
    pub fn uses(&self, inside: impl Fn(&u64) -> bool) -> bool {
        let of_factors = |factors: &BlockFactors| {
            [factors.blocks.blocks.first, factors.blocks.list, factors.exchanges, factors.status]
        };
        match &self.operation {
            BatchOperation::Product(product) => [product.a, product.b, product.c].iter().any(|m| inside(&m.first)),
            BatchOperation::Factor(factors) => of_factors(factors).iter().any(inside),
            BatchOperation::Solve { factors, rhs, .. } => {
                of_factors(factors).iter().chain(&[rhs.blocks.first, rhs.list]).any(inside)
            }
        }
    }

    /// Run the operation.
    ///
    /// # Safety
    /// The batches exist, and nothing else uses them at the same time.
    pub unsafe fn run(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.number {
                "f32" => self.run_on::<f32>(),
                "f64" => self.run_on::<f64>(),
                "c32" => self.run_on::<Complex32>(),
                _ => self.run_on::<Complex64>(),
            }
        }
    }

    unsafe fn run_on<T: Scalar>(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.operation {
                BatchOperation::Product(product) => multiply::<T>(product),
                BatchOperation::Factor(all) => factor::<T>(all),
                BatchOperation::Solve { factors, transposed, rhs, columns } => {
                    solve::<T>(factors, *transposed, &rhs.blocks, *columns);
                }
            }
        }
    }
}

fn team(block: usize) -> Team {
    Team { block, threads: 1, simd: Simd::detect(), invert: false }
}

/// Compute columns of blocks of n rows. The CPU divides square blocks into pieces of columns, and the rounding of a product can depend on its number of
/// columns.
fn in_pieces<T: Scalar>(n: usize, to: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    if to.len() == n * n { team(n).by_columns(n, to, work) } else { work(0, to) }
}

/// Copy a block to the host.
unsafe fn load<T: Scalar>(blocks: &SpacedBlocks, which: usize, (rows, columns): (usize, usize)) -> Vec<T> {
    let first = at(blocks.first).cast::<T>();
    let column = |j: usize| {
        // SAFETY: the caller's promise.
        let column = unsafe { first.add(which * blocks.step as usize + j * blocks.leading as usize) };
        // SAFETY: see above.
        (0..rows).map(move |i| unsafe { column.add(i).read() })
    };
    (0..columns).flat_map(column).collect()
}

/// Copy a block to the device.
unsafe fn store<T: Scalar>(blocks: &SpacedBlocks, which: usize, rows: usize, elements: &[T]) {
    let first = at(blocks.first).cast::<T>();
    for (j, column) in elements.chunks_exact(rows).enumerate() {
        // SAFETY: the caller's promise.
        unsafe {
            let to = first.add(which * blocks.step as usize + j * blocks.leading as usize);
            to.copy_from_nonoverlapping(column.as_ptr(), rows);
        }
    }
}

unsafe fn multiply<T: Scalar>(product: &BlockProduct) {
    let BlockProduct { block, columns, count, result, transposed, a, b, c } = product;
    let (n, columns) = (*block, *columns);
    for which in 0..*count {
        // SAFETY: here and below, the caller's promise.
        let (a, b) = unsafe { (load::<T>(a, which, (n, n)), load::<T>(b, which, (n, columns))) };
        let mut to = match result {
            // SAFETY: see above.
            ProductResult::Subtract => unsafe { load::<T>(c, which, (n, columns)) },
            _ => vec![T::ZERO; n * columns],
        };
        let a = View::new(&a, n, n);
        let a = if *transposed { a.transpose() } else { a };
        in_pieces(n, &mut to, |first, to| {
            let columns = to.len() / n;
            let (b, to) = (View::new(&b[first * n..][..to.len()], n, columns), ViewMut::new(to, n, columns));
            match result {
                ProductResult::Replace => Product::replace(to, a, b).run_on(Simd::detect()),
                _ => Product::subtract(to, a, b).run_on(Simd::detect()),
            }
        });
        // SAFETY: see above.
        unsafe { store(c, which, n, &to) };
    }
}

unsafe fn factor<T: Scalar>(factors: &BlockFactors) {
    let BlockFactors { block, count, blocks, exchanges, status } = *factors;
    let [exchanges, status] = [exchanges, status].map(|address| at(address).cast::<u32>());
    for which in 0..count {
        // SAFETY: here and below, the caller's promise.
        let elements = unsafe { load::<T>(&blocks.blocks, which, (block, block)) };
        let lu = DenseLu::new(elements, team(block)).expect("the host has memory for a block");
        let (elements, order) = lu.into_factors();
        let zero = elements.iter().step_by(block + 1).position(|pivot| *pivot == T::ZERO);
        // SAFETY: see above.
        unsafe {
            store(&blocks.blocks, which, block, &elements);
            exchanges.add(which * block).copy_from_nonoverlapping(order.as_ptr(), block);
            status.add(which).write(zero.map_or(0, |k| k as u32 + 1));
        }
    }
}

unsafe fn solve<T: Scalar>(factors: &BlockFactors, transposed: bool, rhs: &SpacedBlocks, columns: usize) {
    let BlockFactors { block, count, blocks, exchanges, .. } = *factors;
    let exchanges = at(exchanges).cast::<u32>();
    for which in 0..count {
        // SAFETY: here and below, the caller's promise.
        let (elements, given) =
            unsafe { (load::<T>(&blocks.blocks, which, (block, block)), load::<T>(rhs, which, (block, columns))) };
        // SAFETY: see above.
        let order = (0..block).map(|k| unsafe { exchanges.add(which * block + k).read() }).collect();
        let lu = DenseLu::from_factors(elements, order, team(block)).expect("the host has memory for a block");
        let mut x = vec![T::ZERO; given.len()];
        in_pieces(block, &mut x, |first, x| {
            let mut given = given[first * block..][..x.len()].to_vec();
            if transposed { lu.solve_transpose(&mut given, x) } else { lu.solve(&mut given, x) }
        });
        // SAFETY: see above.
        unsafe { store(rhs, which, block, &x) };
    }
}
