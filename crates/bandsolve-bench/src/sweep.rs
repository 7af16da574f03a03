//! Measurements of all solvers for several sizes, number types and kinds of matrices.

use crate::args::{Data, RealDtype};
use crate::contest::{self, Budget, Contestant};
use crate::machine::MachineFacts;
use crate::peers::{Peer, PeerScalar};
use crate::results::Results;
use crate::row::{BenchRow, compare, keep_best_yardstick};
use crate::setup::show;
use crate::sheet::{self, Sheet};
use crate::system::{BenchMemory, BenchSystem, PeerNumbers, SolverChoice, theirs};
use crate::yardstick::{self, Passes, Store, Word};
use bandsolve_program::exit::Failure;
use bandsolve_program::memory::affordable;
use bandsolve_program::{progress, report};
use serde_json::{Value, json};

/// The settings of a sweep.
pub struct SizeSweep {
    /// Numbers of unknowns.
    pub sizes: Vec<usize>,
    /// Number types.
    pub dtypes: Vec<RealDtype>,
    /// Kinds of matrices.
    pub data: Vec<Data>,
    /// Solvers of bandsolve.
    pub solvers: Vec<SolverChoice>,
    /// Numbers of threads at which memory bandwidth is measured.
    pub yardsticks: Vec<usize>,
    /// Time for each system.
    pub budget: Budget,
    pub machine: MachineFacts,
    /// The other libraries.
    pub peers: Vec<Peer>,
}

/// The results of all solvers for one system.
pub struct Table {
    /// Number of unknowns.
    pub n: usize,
    /// Number type.
    pub dtype: &'static str,
    /// Size of a number in bytes.
    pub bytes: usize,
    /// Machine epsilon of the number type.
    pub epsilon: f64,
    /// Kind of matrix.
    pub data: Data,
    /// Whether the system is larger than the caches.
    far: bool,
    /// One row per solver, in the order of measurement.
    pub rows: Vec<BenchRow>,
}

impl SizeSweep {
    /// Measure everything and print each table as soon as it is complete. If `stdout_used`, the tables go to standard error, because standard
    /// output carries data.
    ///
    /// # Errors
    /// [`Failure::Usage`] if a size does not fit in memory, [`Failure::Other`] if a table cannot be printed.
    pub fn run(&self, stdout_used: bool) -> Result<Vec<Table>, Failure> {
        self.check_sizes()?;
        report::print_beside(&self.machine.text(Some(&self.peers)), stdout_used)?;
        let bar = progress::parts("system", self.sizes.len() * self.dtypes.len() * self.data.len());
        let mut tables = Vec::new();
        for &n in &self.sizes {
            for &dtype in &self.dtypes {
                for &data in &self.data {
                    let table = match dtype {
                        RealDtype::F32 => self.measure::<f32>(n, data),
                        RealDtype::F64 => self.measure::<f64>(n, data),
                    };
                    show(&table.sheet().text(), stdout_used, &bar)?;
                    tables.push(table);
                }
            }
        }
        Ok(tables)
    }

    /// The report of the tables that [`run`](Self::run) returned.
    pub fn results(&self, bench: &'static str, tables: &[Table]) -> Results {
        let rows: Vec<Value> = tables.iter().flat_map(Table::json).collect();
        Results::here(bench, &self.machine, Some(&self.peers), rows, tables.iter().map(Table::sheet).collect())
    }

    fn check_sizes(&self) -> Result<(), Failure> {
        let widest = self.dtypes.iter().map(|d| d.bytes()).max().unwrap_or(8);
        let Some(n) = self.sizes.iter().max() else { return Ok(()) };
        // The system, the copy that the other libraries overwrite, x, and the factors of the sequential method.
        let fits = affordable(&[*n, 4 + 4 + 1 + 6], widest);
        fits.map_or_else(|why| Err(Failure::Usage(format!("--n {n}: {why}"))), |_| Ok(()))
    }

    fn measure<T: PeerScalar + Word>(&self, n: usize, data: Data) -> Table {
        let numbers = PeerNumbers::<T>::new(n, data);
        let system = BenchSystem::new(&numbers);
        let mut work = BenchMemory::new(n, !self.peers.is_empty());
        // Memory bandwidth limits only systems that exceed the caches.
        let far = 5 * n * size_of::<T>() > self.machine.cache;
        let mut contestants: Vec<_> = self.solvers.iter().map(|choice| choice.on(&system)).collect();
        contestants.extend(self.peers.iter().flat_map(|peer| theirs(peer, &system, data)));
        if far {
            contestants.extend(self.yardsticks(&system));
        }
        let check = |work: &BenchMemory<T>| (system.backward_error(work), work.repair());
        let mut rows = contest::run(&mut contestants, n, self.budget, &mut work, check);
        keep_best_yardstick(&mut rows);
        compare(&mut rows);
        Table { n, dtype: T::NAME, bytes: size_of::<T>(), epsilon: T::EPSILON.to_f64(), data, far, rows }
    }

    fn yardsticks<'a, T: PeerScalar + Word>(
        &self,
        system: &'a BenchSystem<'a, T>,
    ) -> Vec<Contestant<'a, BenchMemory<T>>> {
        let both = self.yardsticks.iter().flat_map(|threads| Store::ALL.iter().map(|store| (*threads, *store)));
        both.map(|(threads, store)| Contestant {
            name: yardstick::NAME.into(),
            threads,
            solve: Box::new(move |work: &mut BenchMemory<T>| {
                Ok(yardstick::move_words(Passes::Two, system.arrays(), work.overwritten(), (store, threads)))
            }),
        })
        .collect()
    }
}

impl Table {
    fn sheet(&self) -> Sheet {
        let place = if self.far { "larger than the caches" } else { "fits in the caches" };
        let title = format!("n = {}, {}, {} data, {place}", self.n, self.dtype, self.data.name());
        Sheet::of(title, &self.rows, sheet::Routine::Gtsv, Passes::Two)
    }

    fn json(&self) -> Vec<Value> {
        let facts = json!({ "n": self.n, "dtype": self.dtype, "data": self.data.name() });
        self.rows.iter().map(|row| row.json(&facts)).collect()
    }
}
