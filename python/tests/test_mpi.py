"""`bandsolve.mpi` on 1 to 4 ranks; the page of the documentation as it stands; what it says without its library."""

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
def test_the_page_runs(tmp_path):
    pages = [folder / "docs" / "mpi.md" for folder in HERE.parents]
    page = next(page for page in pages if page.exists()).read_text()
    [code] = re.findall(r"```python title=.*?\n(.*?)```", page, re.S)
    (tmp_path / "page.py").write_text(code)
    assert "backward error" in mpirun(3, tmp_path / "page.py")


@needs_mpi
def test_without_its_library_it_says_how_to_build_it():
    code = ("import numpy as np, bandsolve.mpi\nfrom mpi4py import MPI\n"
            "bandsolve.mpi.solve_tridiagonal(MPI.COMM_SELF, *np.ones((4, 3)))")
    environment = {**os.environ, "BANDSOLVE_MPI_LIBRARY": "/no/such/library.so", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "cargo build --release -p bandsolve-mpi-capi" in done.stderr and "/no/such/library.so" in done.stderr, done.stderr
