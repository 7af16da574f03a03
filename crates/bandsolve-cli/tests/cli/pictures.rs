//! Tests of all pictures: formats, colours and text.

use crate::*;

/// Width, height and RGBA pixels of a PNG file.
pub fn pixels(path: &str) -> (u32, u32, Vec<[u8; 4]>) {
    let bytes = std::fs::read(path).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().expect("a header");
    let mut buffer = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut buffer).expect("pixels");
    assert_eq!(info.color_type, png::ColorType::Rgba);
    (info.width, info.height, buffer.as_chunks().0.to_vec())
}

/// Width and height from the attributes of the outermost element.
fn size(svg: &str) -> [u32; 2] {
    ["width=\"", "height=\""].map(|name| {
        let rest = &svg[svg.find(name).expect("a size") + name.len()..];
        rest[..rest.find('"').unwrap()].parse().expect("a number")
    })
}

/// Every command with `--plot`, without that option.
fn commands(folder: &Folder) -> Vec<Vec<String>> {
    let a = folder.file("A.mtx", matrix_market(40, &toeplitz(40, 4.0, &[1], &[1, 2])));
    let lines = [
        format!("spy {a}"),
        "stability tridiagonal --n 33".into(),
        "stability pentadiagonal --n 64".into(),
        "stability block --n 64".into(),
        format!("stability banded {a}"),
        "bench tridiagonal --quick --n 500,1000 --threads 1 --dtype f64".into(),
        "bench methods --quick --n 300 --threads 1".into(),
        "bench batch --quick --count 16 --n 32 --threads 1".into(),
        "bench block --quick --block 9,20 --n 100 --threads 1,2".into(),
        "bench banded --quick --n 300 --half-bandwidths 2,9 --threads 1".into(),
        "bench sparse --quick --n 700 --n-rhs 3 --threads 1".into(),
        "bench iterate --quick --n 12 --precond none,alt-i:2".into(),
        "bench gpu --quick --device emulated --only speed --dtype f64".into(),
    ];
    lines.iter().map(|line| line.split(' ').map(String::from).collect()).collect()
}

#[test]
fn every_picture_is_svg_or_png_by_its_ending() {
    let folder = Folder::new();
    for command in commands(&folder) {
        let run = |path: &str| {
            let words: Vec<&str> = command.iter().map(String::as_str).chain(["--plot", path]).collect();
            bandsolve(&words).exits(0)
        };
        let (svg, png) = (folder.path("picture.svg"), folder.path("picture.png"));
        run(&svg);
        run(&png);
        let svg = std::fs::read_to_string(&svg).expect("a picture");
        check_xml(&svg);
        check_colours(&svg, &command);
        let (width, height, pixels) = pixels(&png);
        // The two runs have different times, so their texts and sizes differ slightly.
        assert!(width.abs_diff(2 * size(&svg)[0]) < 400 && height.abs_diff(2 * size(&svg)[1]) < 100, "{command:?}");
        assert!(pixels.iter().all(|pixel| pixel[3] == 255), "opaque: {command:?}");
        assert_eq!(pixels[0], [255; 4], "light: {command:?}");
        let ink = pixels.iter().filter(|pixel| pixel[..3].iter().all(|part| *part < 100)).count();
        assert!(ink > 500, "words: {command:?} has {ink} dark pixels");
        let colour = |pixel: &&[u8; 4]| pixel[..3].iter().max().unwrap() - pixel[..3].iter().min().unwrap() > 60;
        assert!(pixels.iter().filter(colour).count() > 100, "data: {command:?}");
    }
}

/// Check that colours follow the theme of the page. Only heat maps have colours outside of the style sheet.
#[track_caller]
fn check_colours(svg: &str, command: &[String]) {
    let (style, body) = svg.split_once("</style>").expect("a style");
    assert!(style.contains("@media(prefers-color-scheme:dark)"), "{command:?}");
    let body = if command[0] == "stability" { body.replace("fill=\"#", "") } else { body.to_string() };
    assert!(!body.contains("=\"#"), "{command:?}");
    for class in body.split("class=\"").skip(1).flat_map(|rest| rest.split('"').next().unwrap().split(' ')) {
        let notes = ["cell", "cells", "dot", "series", "roof", "bound", "corner"];
        assert!(notes.contains(&class) || style.contains(&format!(".{class}")), "no style for {class}: {command:?}");
    }
}

#[test]
fn other_endings_are_wrong_usage() {
    let folder = Folder::new();
    for command in commands(&folder) {
        for name in ["picture.gif", "picture", "png"] {
            let path = folder.path(name);
            let words: Vec<&str> = command.iter().map(String::as_str).chain(["--plot", &path]).collect();
            bandsolve(&words).fails(2, ".svg or .png");
        }
    }
    bandsolve(&["bench", "tridiagonal", "--plot", "x.svg", "--report", "x.svg"]).fails(2, "same file");
    bandsolve(&["bench", "batch", "--plot", "-", "--json", "-"]).fails(2, "same file");
    bandsolve(&["stability", "block", "--plot", "-", "--json", "-"]).fails(2, "same file");
    bandsolve(&["bench", "gpu", "--device", "emulated", "--only", "accuracy", "--plot", "x.svg"]).fails(2, "--only");
    bandsolve(&["bench", "gpu", "--device", "emulated", "--dtype", "c128", "--plot", "x.svg"]).fails(2, "f32 and f64");
    bandsolve(&["bench", "gpu", "--device", "cuda:4096", "--plot", "x.gif"]).fails(2, ".svg or .png");
}

#[test]
fn speed_is_drawn_against_the_size_and_the_memory_bus() {
    let args =
        "bench tridiagonal --quick --n 2000,4000,8000 --threads 1 --dtype f64,f32 --data random,dominant --plot -";
    let run = bandsolve(&args.split(' ').collect::<Vec<_>>()).exits(0);
    assert!(run.stderr.contains("n = 8000"), "{run:#?}");
    check_xml(&run.stdout);
    // `rpts` verified and unverified, `pivoted`, and the other libraries. MKL has a second routine for dominant data.
    let series = run.stdout.matches(r#"class="series""#).count();
    assert!(series >= 4 * 2 * 3 && series.is_multiple_of(4), "{series}");
    assert_eq!(run.stdout.matches(r#"class="frame roof""#).count(), 4);
    for words in ["rows per second", "GB/s", "f32, dominant data", "rpts, unverified", "memory bandwidth, 1 thread"] {
        assert!(run.stdout.contains(words), "{words}\n{}", run.stdout);
    }
}
