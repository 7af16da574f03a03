//! What the environment says, read once.

use std::sync::OnceLock;

/// When large systems are split, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// From the size on at which it pays.
    Usual,
    /// Always, with so many rows: small tests then reach the parallel code.
    Rows(usize),
    /// Never.
    Off,
}

/// `BANDSOLVE_FORCE_PARTITION`: a number of rows, 0 for never.
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
