//! Settings from environment variables, which are read once.

use std::sync::OnceLock;

/// Whether large systems are divided into partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// Divide systems from the size on at which partitions are faster.
    Usual,
    /// Always divide, with this number of rows per partition. Small tests then use the parallel code.
    Rows(usize),
    /// Never divide.
    Off,
}

/// `BANDSOLVE_FORCE_PARTITION`: the number of rows per partition, or 0 for no partitions.
pub fn partition() -> Partition {
    static PARTITION: OnceLock<Partition> = OnceLock::new();
    *PARTITION.get_or_init(|| parse(std::env::var("BANDSOLVE_FORCE_PARTITION").ok().as_deref()))
}

fn parse(value: Option<&str>) -> Partition {
    match value.and_then(|v| v.trim().parse().ok()) {
        None => Partition::Usual,
        Some(0) => Partition::Off,
        Some(rows) => Partition::Rows(rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(parse(None), Partition::Usual);
        assert_eq!(parse(Some("often")), Partition::Usual);
        assert_eq!(parse(Some("0")), Partition::Off);
        assert_eq!(parse(Some(" 4 ")), Partition::Rows(4));
    }
}
