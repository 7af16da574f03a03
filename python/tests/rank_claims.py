"""Random problems over ranks. No report may claim what is not true; what it claims is compared as `tests/claims.py` does.

usage: mpirun -n RANKS python rank_claims.py [CASES [SEED]]

All ranks draw the same problem, of which each owns some rows, and compare the whole answer.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from mpi4py import MPI
from scipy.sparse.linalg import ArpackNoConvergence

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
import claims  # noqa: E402
from claims import claim, numbers  # noqa: E402

import bandsolve.mpi as ours  # noqa: E402

COMM = MPI.COMM_WORLD


def own_rows(rng, n):
    """The rows of this rank, of n: ends anywhere, so that some ranks own few rows or none."""
    ends = np.sort(rng.integers(0, n + 1, COMM.size - 1)) if rng.random() < 0.5 else np.arange(1, COMM.size) * n // COMM.size
    ends = [0, *ends.tolist(), n]
    return slice(ends[COMM.rank], ends[COMM.rank + 1])


def whole(part):
    return np.concatenate(COMM.allgather(part))


def check_condition(a, report, eps):
    """`rcond` is at least the row-wise 1/κ, and rarely many times larger. Where κ leaves few digits, NumPy's inverse tells nothing."""
    with np.errstate(all="ignore"):
        rows = abs(a).sum(axis=1)
        scaled = (a / rows[:, None]).astype(complex if a.dtype.kind == "c" else float)
        try:
            exact = 1 / abs(np.linalg.inv(scaled)).sum(axis=1).max()
        except np.linalg.LinAlgError:
            return
    if not np.isfinite(scaled).all() or exact < 1e4 * np.finfo(float).eps:
        return
    claim(np.isnan(report.rcond) or report.rcond >= exact / 4 - 64 * eps, "rcond", report.rcond, "where 1/κ is", exact)
    claim(report.attention is None or exact < 1e4 * eps, report.attention, "where 1/κ is", exact)


def tridiagonal(rng):
    dtype, n, periodic = claims.a_dtype(rng), int(rng.choice([1, 2, 3, 5, 17, 33, 70])), bool(rng.integers(2))
    n = max(n, 3) if periodic else n
    arrays = claims.three_diagonals(rng, n, dtype)
    rhs, mine = numbers(rng, n, dtype) * dtype.type(claims.a_power(rng, dtype)), own_rows(rng, n)
    given = [array[mine] for array in (*arrays, rhs)]
    answer = claims.solved(lambda: ours.solve_tridiagonal(COMM, *given, periodic=periodic, full_output=True))
    if answer is None:
        return False
    a = claims.a_dense(*arrays, periodic)
    claims.check_direct(a, whole(answer[0]), rhs, answer[1].backward_errors, 3)
    check_condition(a, answer[1], float(np.finfo(dtype).eps))
    return True


def blocks(rng):
    dtype, b, m = claims.a_dtype(rng), int(rng.choice([2, 3, 5])), int(rng.integers(1, 13))
    sub, diag, sup = (numbers(rng, (m, b, b), dtype) for _ in range(3))
    diag += dtype.type(rng.choice([0, 0, 3, 9])) * np.eye(b, dtype=dtype)
    power = dtype.type(claims.a_power(rng, dtype))
    sub, diag, sup = (array * power for array in (sub, diag, sup))
    rhs, mine = numbers(rng, (m, b), dtype) * dtype.type(claims.a_power(rng, dtype)), own_rows(rng, m)
    method = str(rng.choice(["auto", "bcyclic", "block-spike"]))

    def solve():
        matrix = ours.Blocks(COMM, sub[mine], diag[mine], sup[mine])
        return matrix.factor(method).solve(rhs[mine], full_output=True)

    answer = claims.solved(solve)
    if answer is None:
        return False
    a = np.zeros((m * b, m * b), dtype)
    for i in range(m):
        for array, j in ((sub, i - 1), (diag, i), (sup, i + 1)):
            if 0 <= j < m:
                a[i * b:][:b, j * b:][:, :b] = array[i]
    claims.check_direct(a, whole(answer[0]).reshape(m * b), rhs.reshape(m * b), answer[1].backward_errors, 3 * b)
    check_condition(a, answer[1], float(np.finfo(dtype).eps))
    return True


def batch(rng):
    dtype, n, count = claims.a_dtype(rng), int(rng.choice([1, 2, 5, 16, 33])), int(rng.choice([1, 2, 7, 9]))
    systems = [claims.three_diagonals(rng, n, dtype) for _ in range(count)]
    arrays = [np.stack([system[k] for system in systems], axis=1) for k in range(3)]
    rhs, mine = numbers(rng, (n, count), dtype) * dtype.type(claims.a_power(rng, dtype)), own_rows(rng, n)
    given = [array[mine] for array in (*arrays, rhs)]
    answer = claims.solved(lambda: ours.solve_batch(COMM, *given, full_output=True))
    if answer is None:
        return False
    x, report, eps = whole(answer[0]), answer[1], float(np.finfo(dtype).eps)
    dense = [claims.a_dense(*system) for system in systems]
    true = max(claims.backward_errors(a, x[:, i], rhs[:, i])[0] for i, a in enumerate(dense))
    claim(report.backward_error <= 64 * eps, "accepted with", report.backward_error)
    claim(true <= report.backward_error + 5 * eps, "a system has the backward error", float(true), "reported", report.backward_error)
    if count == 1:
        check_condition(dense[0], report, eps)
    return True


def slabs(rng):
    box = claims.Box(rng)
    mine = own_rows(rng, box.shape[0])
    answer = claims.solved(lambda: ours.solve_poisson(COMM, box.f[mine], full_output=True, **box.options))
    if answer is not None:
        box.check(whole(answer[0]), answer[1])
    return answer is not None


def folded(a):
    """A matrix with its rows and columns in the order 0, n - 1, 1, n - 2, ..., in which a ring is a band."""
    order = np.stack([np.arange(len(a)), np.arange(len(a))[::-1]], axis=1).ravel()[: len(a)]
    return a[np.ix_(order, order)]


def width_of(a):
    rows, columns = np.nonzero(a)
    return max(1, int(abs(rows - columns).max(initial=1)))


def filled_up(a, n):
    """A matrix with its first diagonal entry in further rows."""
    larger = np.eye(n, dtype=a.dtype) * a[0, 0]
    larger[: len(a), : len(a)] = a
    return larger


def blocks_of(a, b, mine):
    """Own block rows of a block tridiagonal matrix."""
    around = np.zeros((len(a) + 2 * b, len(a) + 2 * b), a.dtype)
    around[b:-b, b:-b] = a
    rows = range(mine.start, mine.stop)
    parts = [[around[(i + 1) * b :][:b, (i + k) * b :][:, :b] for i in rows] for k in range(3)]
    return ours.Blocks(COMM, *(np.array(part, a.dtype).reshape(-1, b, b) for part in parts))


def eigsh(rng):
    a, mass, exact, asked = claims.near_problem(rng)
    if width_of(folded(a)) < width_of(a):
        a, mass = (None if matrix is None else folded(matrix) for matrix in (a, mass))
    b = width_of(a) + int(rng.integers(2))
    n = -(-len(a) // b) * b
    a, mass = (None if matrix is None else filled_up(matrix, n) for matrix in (a, mass))
    mine, options = own_rows(rng, n // b), {"seed": int(rng.integers(1000))}
    if rng.random() < 0.2:
        options |= {"ncv": int(rng.integers(1, n + 3)), "maxiter": int(rng.integers(1, 20))}
    if asked["sigma"] == 0:
        asked.pop("sigma")
    try:
        held = blocks_of(a, b, mine), None if mass is None else blocks_of(mass, b, mine)
        w, v, report = ours.eigsh(held[0], M=held[1], full_output=True, **asked, **options)
    except (np.linalg.LinAlgError, ArpackNoConvergence):
        return False
    claim(report["converged"], "not converged, and no exception")
    claim(exact is not None, "eigenvalues for a matrix M with a negative eigenvalue")
    sigma = asked.get("sigma", 0.0)
    exact = claims.eigenvalues_of(a, mass)
    claims.check_pairs(a, w, whole(v), asked["k"], exact, lambda w: abs(w - sigma), mass, asked["tol"])
    allowed = max(asked["tol"], 32 * float(np.finfo(v.dtype).eps) * np.sqrt(n))
    claim((report["residuals"] <= allowed).all(), "converged with", report["residuals"], "allowed", allowed)
    return True


DOORS = (tridiagonal, blocks, batch, slabs, eigsh)


def main(cases=60, seed=0):
    warnings.simplefilter("ignore")
    # Singular matrices, and numbers near the ends of the range, are what is asked for.
    np.seterr(all="ignore")
    failed = 0
    for k, draw in enumerate(DOORS):
        answers, false = 0, 0
        for case in range(seed, seed + cases):
            words = None
            try:
                answers += draw(np.random.default_rng([case, k]))
            except claims.FalseClaim as what:
                words = str(what)
            # All ranks compare the same numbers.
            told = [words for words in COMM.allgather(words) if words]
            false += bool(told)
            if told and COMM.rank == 0:
                print(f"{draw.__name__}, seed {case}: {told[0]}")
        if COMM.rank == 0:
            print(f"{draw.__name__:20} {cases:7} cases  {answers:7} answers  {false:4} false claims", flush=True)
        failed += false + (answers < cases // 10)
    if COMM.rank == 0:
        print(f"{COMM.size} ranks: {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
