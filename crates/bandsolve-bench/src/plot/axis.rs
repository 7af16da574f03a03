//! Logarithmic axes.

/// A logarithmic axis with a length in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    /// Decimal logarithms of both ends.
    ends: (f64, f64),
    length: f64,
}

impl Axis {
    /// An axis that covers all positive finite values, with some space at both ends.
    pub fn over(values: impl Iterator<Item = f64>, length: f64) -> Axis {
        let finite = values.filter(|v| v.is_finite() && *v > 0.0).map(f64::log10);
        let (first, last) = finite.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        // An axis of 0.3 decades or more contains a round number.
        let space = (0.15 - 0.5 * (last - first)).max(0.08);
        Axis { ends: if first > last { (0.0, 1.0) } else { (first - space, last + space) }, length }
    }

    /// Distance of a value from the lower end, in pixels.
    pub fn place(&self, value: f64) -> f64 {
        self.length * (value.log10() - self.ends.0) / (self.ends.1 - self.ends.0)
    }

    /// Round numbers on the axis, at a distance of approximately `space` pixels or more.
    pub fn ticks(&self, space: f64) -> Vec<f64> {
        let (first, last) = self.ends;
        let decade = self.length / (last - first);
        // The smallest step between neighbours, in decades.
        let steps: &[f64] = match space / decade {
            share if share < 0.12 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            share if share < 0.3 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = (space / decade).ceil().max(1.0) as i32;
        let decades = (first.floor() as i32..=last.ceil() as i32).filter(|d| d.rem_euclid(every) == 0);
        let all = decades.flat_map(|d| steps.iter().map(move |m| m * 10.0_f64.powi(d)));
        all.filter(|v| (first..=last).contains(&v.log10())).collect()
    }
}

/// A number with an SI prefix, such as `2 M`.
pub fn short(value: f64) -> String {
    let units = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    let (unit, name) = units.into_iter().find(|(unit, _)| value >= *unit).unwrap_or((1.0, ""));
    // Nine digits hide the rounding error of the division.
    let digits = format!("{:.9}", value / unit);
    format!("{}{name}", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_covers_its_values() {
        let axis = Axis::over([3.0, f64::NAN, 240.0].into_iter(), 330.0);
        assert_eq!(axis.ticks(30.0), [5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        let near = Axis::over([8.0, 40.0].into_iter(), 330.0);
        assert_eq!(near.ticks(30.0), [7.0, 10.0, 15.0, 20.0, 30.0]);
        assert!(axis.place(3.0) > 0.0 && axis.place(240.0) < 330.0);
        assert_eq!(Axis::over([4096.0].into_iter(), 430.0).ticks(40.0), [3000.0, 5000.0]);
        assert_eq!(Axis::over([].into_iter(), 330.0).ticks(30.0).first(), Some(&1.0));
        assert_eq!(Axis::over([1e3, 1e9].into_iter(), 330.0).ticks(30.0).len(), 7);
        assert_eq!(Axis::over([1e0, 1e9].into_iter(), 100.0).ticks(30.0), [1.0, 1e3, 1e6, 1e9]);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.15, 1.0, 50.0, 2e3, 1.5e8, 1e9].map(short), ["0.15", "1", "50", "2 k", "150 M", "1 G"]);
    }
}
