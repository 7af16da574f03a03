"""Pictures that can be read on light and on dark pages."""


def subplots(*args, **kwargs):
    """`matplotlib.pyplot.subplots` with everything but the curves in a middle grey, and nothing behind it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    grey = "#808080"
    plt.rcParams.update({
        "text.color": grey, "axes.labelcolor": grey, "axes.edgecolor": grey, "xtick.color": grey, "ytick.color": grey,
        "axes.titlecolor": grey, "axes.facecolor": "none", "figure.facecolor": "none", "legend.facecolor": "none",
        "legend.edgecolor": grey, "savefig.facecolor": "none", "svg.fonttype": "none",
    })
    return plt.subplots(*args, layout="constrained", **kwargs)
