//! Shapes and memory orders of systems whose arrays are on a GPU: what a solver takes without a copy.

use super::given::GivenArray;
use crate::diagonals::{SLICES, check_off_diagonals};
use bandsolve::{Layout, Shape};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Options that say what the arrays of a matrix mean.
pub struct MatrixOptions {
    /// "tridiagonal", "batch", "blocks" or "banded".
    pub kind: String,
    /// Diagonals below and above the diagonal of a banded matrix.
    pub widths: (usize, usize),
    /// The axis along which the rows of a batch run.
    pub axis: isize,
    pub periodic: bool,
    pub padded: bool,
}

/// The shape of a matrix on a GPU.
pub struct MatrixLayout {
    pub shape: Shape,
    pub rhs: RhsLayout,
    /// Numbers of each array of the solver.
    pub full: usize,
}

/// The shapes and memory orders of right-hand sides.
pub enum RhsLayout {
    /// (n,) or (n, k), one column after the other.
    Columns { n: usize },
    /// (m, b) or (m, b, k), or as `Columns`.
    Blocks { block_rows: usize, block: usize },
    /// (..., n), one system after the other.
    Systems { n: usize },
    /// The shape and the order of the arrays of a batch.
    Batch { shape: Vec<usize>, order: Vec<usize> },
}

fn wrong<X>(message: String) -> PyResult<X> {
    Err(PyValueError::new_err(message))
}

/// All axes, the last the fastest.
fn c_order(dimensions: usize) -> Vec<usize> {
    (0..dimensions).rev().collect()
}

impl MatrixLayout {
    /// Check the arrays of a matrix.
    pub fn new(options: &MatrixOptions, arrays: &[GivenArray]) -> PyResult<Self> {
        match (options.kind.as_str(), arrays) {
            ("tridiagonal", [sub, diag, sup]) => Self::tridiagonal(options, [sub, diag, sup], false),
            ("batch", [sub, diag, sup]) if diag.shape.len() == 1 => Self::tridiagonal(options, [sub, diag, sup], true),
            ("batch", [sub, diag, sup]) => Self::batch(options, [sub, diag, sup]),
            ("blocks", [sub, diag, sup]) => Self::blocks(options, [sub, diag, sup]),
            ("banded", [ab]) => Self::banded(options, ab),
            (kind, _) => wrong(format!("there is no kind {kind} of matrices on a GPU")),
        }
    }

    /// A single matrix, for one system, or for all systems of a batch.
    fn tridiagonal(options: &MatrixOptions, arrays: [&GivenArray; 3], of_batch: bool) -> PyResult<Self> {
        for array in arrays {
            if array.shape.len() != 1 {
                return wrong(format!("{} has {} dimensions, expected 1", array.name, array.shape.len()));
            }
            array.check_dense(&[0], "Pass an array without a step, for example sub.copy().")?;
        }
        let (MatrixOptions { periodic, padded, axis, .. }, n) = (options, arrays[1].len());
        check_off_diagonals((arrays[0].len(), arrays[2].len()), n, Some(*periodic), *padded, SLICES)?;
        if of_batch && *axis != -1 {
            return wrong(format!(
                "axis is {axis}, expected -1: on a GPU, one matrix solves for systems along the last axis. Transpose rhs, or pass a matrix for each \
                 system"
            ));
        }
        let shape = Shape::Tridiagonal { n, periodic: *periodic };
        let rhs = if of_batch { RhsLayout::Systems { n } } else { RhsLayout::Columns { n } };
        Ok(Self { shape, rhs, full: n })
    }

    fn batch(options: &MatrixOptions, arrays: [&GivenArray; 3]) -> PyResult<Self> {
        let diag = arrays[1];
        let (MatrixOptions { periodic, padded, axis, .. }, dimensions) = (options, diag.shape.len());
        if !(-(dimensions as isize)..dimensions as isize).contains(axis) {
            return wrong(format!("axis {axis} is out of bounds for diag of {dimensions} dimensions"));
        }
        let axis = axis.rem_euclid(dimensions as isize) as usize;
        for array in arrays {
            if array.shape.len() != dimensions || (array.shape != diag.shape && (*periodic || *padded)) {
                let (name, own, expected) = (&array.name, &array.shape, &diag.shape);
                return wrong(format!(
                    "{name} has the shape {own:?}, expected {expected:?}, the shape of diag: arrays on a GPU do not broadcast"
                ));
            }
        }
        if !*periodic && !*padded {
            let message = "sub and sup of a batch on a GPU need n entries along the axis, indexed by row. Pass padded=True. The first entry of sub and \
                           the last entry of sup are ignored";
            return wrong(message.into());
        }
        let orders = [c_order(dimensions), (0..dimensions).collect()];
        let order = orders.into_iter().find(|order| diag.is_dense(order)).unwrap_or_else(|| c_order(dimensions));
        let n = diag.shape[axis];
        let count = diag.shape.iter().product::<usize>().checked_div(n).unwrap_or(0);
        let layout = match axis {
            _ if order.first() == Some(&axis) => Layout::Contiguous,
            _ if order.last() == Some(&axis) => Layout::Interleaved,
            _ => {
                return wrong(format!(
                    "axis is {axis}, expected the first or the last axis of an array on a GPU. Move the axis, for example with cupy.moveaxis and cupy.ascontiguousarray"
                ));
            }
        };
        for array in arrays {
            array.check_dense(
                &order,
                "Pass contiguous arrays of one memory order, for example cupy.ascontiguousarray of each.",
            )?;
        }
        let shape = Shape::Batch { count, n, layout, periodic: *periodic };
        Ok(Self { shape, rhs: RhsLayout::Batch { shape: diag.shape.clone(), order }, full: diag.len() })
    }

    fn blocks(options: &MatrixOptions, arrays: [&GivenArray; 3]) -> PyResult<Self> {
        let diag = arrays[1];
        for array in arrays {
            let (name, shape) = (&array.name, &array.shape);
            match (&shape[..], diag.shape.get(1)) {
                ([_, rows, columns], Some(block)) if rows == block && columns == block => {}
                _ => {
                    return wrong(format!(
                        "{name} has the shape {shape:?}, expected (n, b, b): n square blocks of one size"
                    ));
                }
            }
            let advice = "The blocks must lie one after the other, each in order F: pass \
                          cupy.ascontiguousarray(a.transpose(0, 2, 1)).transpose(0, 2, 1).";
            array.check_dense(&[1, 2, 0], advice)?;
        }
        let (block_rows, block, periodic) = (diag.shape[0], diag.shape[1], options.periodic);
        let lengths = (arrays[0].shape[0], arrays[2].shape[0]);
        check_off_diagonals(lengths, block_rows, Some(periodic), options.padded, "Pass sub[1:] and sup[:-1].")?;
        let shape = Shape::BlockTridiagonal { block_rows, block, periodic };
        Ok(Self { shape, rhs: RhsLayout::Blocks { block_rows, block }, full: diag.len() })
    }

    fn banded(options: &MatrixOptions, ab: &GivenArray) -> PyResult<Self> {
        let (lower, upper) = options.widths;
        match ab.shape[..] {
            [diagonals, n] if Some(diagonals) == lower.checked_add(upper).and_then(|sum| sum.checked_add(1)) => {
                ab.check_dense(&[0, 1], "Pass ab in order F, for example cupy.asfortranarray(ab).")?;
                Ok(Self { shape: Shape::Banded { n, lower, upper }, rhs: RhsLayout::Columns { n }, full: ab.len() })
            }
            _ => wrong(format!(
                "ab has the shape {:?}, expected (l + u + 1, n) with l = {lower} and u = {upper}",
                ab.shape
            )),
        }
    }
}

impl RhsLayout {
    /// Check right-hand sides. Returns their axes, the fastest first.
    pub fn order_of(&self, rhs: &GivenArray) -> PyResult<Vec<usize>> {
        let shape = &rhs.shape;
        let other = |expected: String| wrong(format!("rhs has the shape {shape:?}, expected {expected}"));
        let columns = "The right-hand sides must lie one after the other: pass rhs in order F, for example cupy.asfortranarray(rhs).";
        let (order, advice) = match (self, &shape[..]) {
            (Self::Blocks { block_rows, block }, [rows, within, rest @ ..])
                if rows == block_rows && within == block && rest.len() <= 1 =>
            {
                let order = if rest.is_empty() { vec![1, 0] } else { vec![1, 0, 2] };
                let advice = "Each right-hand side must lie in memory as an array of shape (n, b) in order C, one after the other.";
                (order, advice)
            }
            (Self::Columns { n } | Self::Systems { n }, [rows]) if rows == n => (vec![0], columns),
            (Self::Columns { n }, [rows, _]) if rows == n => (vec![0, 1], columns),
            (Self::Blocks { block_rows, block }, [rows] | [rows, _]) if *rows == block_rows * block => {
                ((0..shape.len()).collect(), columns)
            }
            (Self::Systems { n }, [.., rows]) if rows == n => {
                (c_order(shape.len()), "Pass rhs in order C, for example cupy.ascontiguousarray(rhs).")
            }
            (Self::Batch { shape: expected, order }, _) if shape == expected => {
                (order.clone(), "Pass rhs in the memory order of diag.")
            }
            (Self::Columns { n }, _) => return other(format!("({n},) or ({n}, k)")),
            (Self::Systems { n }, _) => return other(format!("(..., {n})")),
            (Self::Blocks { block_rows, block }, _) => {
                return other(format!("({block_rows}, {block}) or ({block_rows}, {block}, k)"));
            }
            (Self::Batch { shape: expected, .. }, _) => return other(format!("{expected:?}, the shape of diag")),
        };
        rhs.check_dense(&order, advice)?;
        Ok(order)
    }
}

/// The indices of a number of an array without gaps, from its position in memory.
pub fn indices(mut position: usize, shape: &[usize], order: &[usize]) -> String {
    let mut indices = vec![0; shape.len()];
    for axis in order {
        indices[*axis] = position % shape[*axis];
        position /= shape[*axis];
    }
    indices.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
