"""`bandsolve.mpi` on 1 to 4 ranks, the example of its documentation page, and the error without its library."""

import ctypes.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARY = os.environ.get("BANDSOLVE_MPI_LIBRARY")

needs_mpi = pytest.mark.skipif(not (shutil.which("mpirun") and LIBRARY and Path(LIBRARY).exists()),
                                reason="no mpirun, or no BANDSOLVE_MPI_LIBRARY")


def mpirun(ranks, *command):
    """What a job of so many ranks says; it has to succeed within two minutes."""
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                   "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    job = subprocess.run(["mpirun", "-n", str(ranks), sys.executable, *map(str, command)], env=environment, capture_output=True,
                         text=True, timeout=120)
    assert job.returncode == 0, job.stdout + job.stderr
    return job.stdout


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_ranks(ranks):
    assert f"{ranks} ranks: all checks passed" in mpirun(ranks, HERE / "ranks.py")


@needs_mpi
@pytest.mark.skipif(not (HERE.parents[1] / "tests" / "claims.py").exists(), reason="tests/claims.py is not here")
def test_no_report_over_ranks_claims_what_is_not_true():
    assert "3 ranks: 0 failed" in mpirun(3, HERE / "rank_claims.py", 60)


@needs_mpi
def test_examples_of_docstrings():
    code = ("import doctest, bandsolve.mpi\n"
            "print(doctest.testmod(bandsolve.mpi, optionflags=doctest.NORMALIZE_WHITESPACE))")
    said = mpirun(1, "-c", code)
    assert "failed=0" in said and "attempted=0" not in said, said


@needs_mpi
def test_the_page_runs(tmp_path):
    pages = [folder / "docs" / "mpi.md" for folder in HERE.parents]
    page = next(page for page in pages if page.exists()).read_text()
    [code] = re.findall(r"```python title=.*?\n(.*?)```", page, re.S)
    (tmp_path / "page.py").write_text(code)
    assert "backward error" in mpirun(3, tmp_path / "page.py")


@needs_mpi
@pytest.mark.parametrize("library", ["/no/such/library.so", ctypes.util.find_library("m") or "libm.so"], ids=["missing", "another"])
def test_without_its_library_it_says_how_to_build_it(library):
    code = ("import numpy as np, bandsolve.mpi\nfrom mpi4py import MPI\n"
            "bandsolve.mpi.solve_tridiagonal(MPI.COMM_SELF, *np.ones((4, 3)))")
    environment = {**os.environ, "BANDSOLVE_MPI_LIBRARY": library, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "cargo build --release -p bandsolve-mpi-capi" in done.stderr and library in done.stderr, done.stderr
    assert "ImportError" in done.stderr, done.stderr


FAILING_GATHER = """
#include <mpi.h>
int fail = 0;
int MPI_Allgather(const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt, MPI_Comm c) {
    if (!fail || c == MPI_COMM_WORLD) return PMPI_Allgather(s, sc, st, r, rc, rt, c);
    PMPI_Comm_call_errhandler(c, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}
"""

SOLVES_WHILE_GATHERS_FAIL = """
import ctypes
import numpy as np
import bandsolve.mpi
from mpi4py import MPI
off, diag = np.full(50, -1.0), np.full(50, 2.1)
factors = bandsolve.mpi.Blocks(MPI.COMM_WORLD, off, diag, off).factor()
x = factors.solve(np.ones(50))
print("solved", flush=True)
ctypes.c_int.in_dll(ctypes.CDLL(None), "fail").value = 1
wrong = factors.solve(np.ones(50))
print("went on, x differs by", abs(wrong - x).max(), flush=True)
"""


@needs_mpi
@pytest.mark.skipif(not shutil.which("mpicc"), reason="no mpicc")
def test_errors_of_mpi_end_the_job(tmp_path):
    """mpi4py has MPI return its errors, and nobody looked: an unsolved x was reported as verified."""
    (tmp_path / "failing.c").write_text(FAILING_GATHER)
    (tmp_path / "solve.py").write_text(SOLVES_WHILE_GATHERS_FAIL)
    library = tmp_path / "failing.so"
    subprocess.run(["mpicc", "-shared", "-fPIC", tmp_path / "failing.c", "-o", library], check=True)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    command = ["mpirun", "-n", "2", "env", f"LD_PRELOAD={library}", sys.executable, tmp_path / "solve.py"]
    job = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert "solved" in job.stdout, job.stderr
    assert job.returncode != 0 and "went on" not in job.stdout, job.stdout
