//! Colours as CSS classes, each with a value for light pages and one for dark pages.

use std::fmt::Write;

/// Classes that are the same on light and dark pages. [`font`] and [`anchor`] must agree with them.
const LAYOUT: &str = "text{font-family:'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:11px}\
.title{font-size:16px;font-weight:600}.section{font-size:13px;font-weight:600}\
.end{text-anchor:end}.mid{text-anchor:middle}.num{font-size:9px}\
.halo{paint-order:stroke;stroke-width:3px}.crisp{shape-rendering:crispEdges}";

/// Font size in pixels for these classes, and whether the font is bold.
pub fn font(classes: &str) -> (f64, bool) {
    let has = |name| classes.split(' ').any(|class| class == name);
    match () {
        () if has("title") => (16.0, true),
        () if has("section") => (13.0, true),
        () if has("num") => (9.0, false),
        () => (11.0, false),
    }
}

/// The part of a text that is aligned to its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The beginning.
    Start,
    /// The middle.
    Middle,
    /// The end.
    End,
}

/// The alignment for these classes.
pub fn anchor(classes: &str) -> Anchor {
    let has = |name| classes.split(' ').any(|class| class == name);
    match () {
        () if has("end") => Anchor::End,
        () if has("mid") => Anchor::Middle,
        () => Anchor::Start,
    }
}

/// Number of colours of data series. Class `s0` and so on sets `fill`, class `k0` and so on sets `stroke`.
pub const SERIES: usize = 8;
/// Number of steps of the colour scale from small to large values: classes `r0` and so on.
pub const RAMP: usize = 64;

/// The colours of one page.
struct Colours {
    /// The background, borders of cells and the inside of hollow marks.
    paper: &'static str,
    /// Text.
    ink: &'static str,
    /// Secondary text.
    soft: &'static str,
    /// Grid lines.
    grid: &'static str,
    /// Every other line of a table.
    stripe: &'static str,
    /// Cells without data.
    empty: &'static str,
    /// Failures.
    alarm: &'static str,
    series: [&'static str; SERIES],
    /// Colours of the scale at equal distances. Lightness changes evenly, so equal differences look equal.
    ramp: [[u8; 3]; 4],
}

const LIGHT: Colours = Colours {
    paper: "#fff",
    ink: "#222",
    soft: "#5c5c5c",
    grid: "#dcdcdc",
    stripe: "#f5f5f5",
    empty: "#f2f2f2",
    alarm: "#b2182b",
    series: ["#2f66b3", "#d1342b", "#14854a", "#7b3294", "#c25a00", "#0a8090", "#b8377f", "#6b6b6b"],
    ramp: [[182, 208, 234], [77, 148, 205], [30, 88, 168], [12, 26, 77]],
};

const DARK: Colours = Colours {
    paper: "#15171c",
    ink: "#e8e8e8",
    soft: "#a6a9b0",
    grid: "#3b3e46",
    stripe: "#1d2026",
    empty: "#23262d",
    alarm: "#ff7b72",
    series: ["#79b0ff", "#ff7d72", "#55cf8a", "#c79bea", "#ffa657", "#4fd0dc", "#f58bc0", "#b0b0b0"],
    ramp: [[48, 76, 120], [44, 127, 160], [86, 190, 160], [248, 245, 170]],
};

/// The style sheet for both themes. Viewers without `@media` show the light one.
pub fn stylesheet() -> String {
    format!("{}@media(prefers-color-scheme:dark){{{}}}", light(), colours(&DARK))
}

/// The style sheet for the light theme only.
pub fn light() -> String {
    format!("{LAYOUT}{}", colours(&LIGHT))
}

fn colours(c: &Colours) -> String {
    let Colours { paper, ink, soft, grid, stripe, empty, alarm, .. } = c;
    // `on`, `pale` and `mark` are drawn on data, whose colours are the same in both themes.
    let mut text = format!(
        ":root{{--paper:{paper};--ink:{ink};--soft:{soft};--grid:{grid};--stripe:{stripe}}}\
         text,.ink{{fill:{ink}}}.soft{{fill:{soft}}}.on,.mark{{fill:#222}}.pale{{fill:#fff}}.paper,.hollow{{fill:{paper}}}\
         .edge,.halo{{stroke:{paper}}}.grid{{stroke:{grid}}}.frame{{stroke:{soft};fill:none}}.stripe{{fill:{stripe}}}\
         .empty{{fill:{empty}}}.alarm{{stroke:{alarm}}}"
    );
    for (k, colour) in c.series.iter().enumerate() {
        let _ = write!(text, ".s{k}{{fill:{colour}}}.k{k}{{stroke:{colour}}}");
    }
    for k in 0..RAMP {
        let _ = write!(text, ".r{k}{{fill:{}}}", mix(&c.ramp, k as f64 / (RAMP - 1) as f64));
    }
    text
}

/// Interpolate linearly in a list of colours, for `t` from 0 to 1.
pub fn mix(colours: &[[u8; 3]], t: f64) -> String {
    let t = t.clamp(0.0, 1.0) * (colours.len() - 1) as f64;
    let below = (t as usize).min(colours.len() - 2);
    let part = |k: usize| {
        let [a, b] = [below, below + 1].map(|i| f64::from(colours[i][k]));
        (a + (b - a) * (t - below as f64)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0), part(1), part(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let digits = &colour[1..];
        let part = |k: usize| {
            let text = if digits.len() == 3 { digits[k..=k].repeat(2) } else { digits[2 * k..2 * k + 2].to_string() };
            let v = f64::from(u8::from_str_radix(&text, 16).unwrap()) / 255.0;
            if v <= 0.03928 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// The lightness L* of CIELAB.
    fn lightness(colour: &str) -> f64 {
        let y = luminance(colour);
        if y > 0.008856 { 116.0 * y.cbrt() - 16.0 } else { 903.3 * y }
    }

    #[test]
    fn equal_steps_of_the_scale_look_equal() {
        for c in [LIGHT, DARK] {
            let all: Vec<f64> = (0..RAMP).map(|k| lightness(&mix(&c.ramp, k as f64 / (RAMP - 1) as f64))).collect();
            let mean = (all[RAMP - 1] - all[0]) / (RAMP - 1) as f64;
            for pair in all.windows(2) {
                let step = (pair[1] - pair[0]) / mean;
                assert!((0.5..2.0).contains(&step), "{step}");
            }
        }
    }

    /// WCAG 2 requires a contrast of 4.5 for text and 3 for graphics.
    #[test]
    fn words_and_data_stand_out_on_both_pages() {
        for c in [LIGHT, DARK] {
            for ground in [c.paper, c.stripe] {
                assert!(contrast(c.ink, ground) > 7.0 && contrast(c.soft, ground) > 4.5);
                for colour in c.series.iter().chain([&c.alarm]) {
                    assert!(contrast(colour, ground) > 3.0, "{colour} on {ground}");
                }
            }
            assert!(contrast(&mix(&c.ramp, 0.0), c.empty) > 1.4 && contrast(&mix(&c.ramp, 1.0), c.paper) > 10.0);
        }
    }
}
