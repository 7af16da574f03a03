//! The machine of the measurements.

use crate::peers::Peer;
use bandsolve::Simd;
use serde_json::{Value, json};

/// A short description of the machine.
#[derive(Debug, Clone)]
pub struct MachineFacts {
    cpu: String,
    cores: usize,
    simd: &'static str,
    /// Size of the largest cache in bytes.
    pub cache: usize,
}

/// Assumed size of the cache if the system does not report it.
const DEFAULT_CACHE: usize = 32 << 20;

impl MachineFacts {
    /// The machine as the operating system describes it.
    pub fn here() -> MachineFacts {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        MachineFacts {
            cpu: model.map_or(std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string()),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            simd: Simd::detect().name(),
            cache: last_cache().unwrap_or(DEFAULT_CACHE),
        }
    }

    /// The description in one line.
    pub fn summary(&self) -> String {
        let cores = bandsolve_program::report::counted(self.cores, "core");
        format!("{}, {cores}, {} MiB of cache, simd {}", self.cpu, self.cache >> 20, self.simd)
    }

    /// The description and the libraries, one line each.
    pub fn text(&self, peers: Option<&[Peer]>) -> String {
        bandsolve_program::report::columns(&self.lines(peers))
    }

    /// Names and facts: the machine, and the files of the other libraries if the benchmark compares with them.
    pub fn lines(&self, peers: Option<&[Peer]>) -> Vec<(&'static str, String)> {
        let mut lines = vec![("machine", self.summary())];
        lines.extend(peers.iter().copied().flatten().map(|p| (p.name, p.path.display().to_string())));
        if peers.is_some_and(<[Peer]>::is_empty) {
            lines.push(("libraries", "none to compare with: this machine has no LAPACK, OpenBLAS or MKL".into()));
        }
        lines
    }

    /// The description for the JSON report.
    pub fn json(&self, peers: Option<&[Peer]>) -> Value {
        let peers: Vec<_> =
            peers.iter().copied().flatten().map(|p| json!({ "name": p.name, "path": p.path })).collect();
        json!({ "cpu": self.cpu, "cores": self.cores, "simd": self.simd, "cache_bytes": self.cache, "peers": peers })
    }
}

/// Size of the largest cache of the first core. Linux reports it as `36608K`.
fn last_cache() -> Option<usize> {
    let sizes = (0..8).filter_map(|index| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().strip_suffix('K')?.parse::<usize>().ok()
    });
    sizes.max().map(|kib| kib << 10)
}
