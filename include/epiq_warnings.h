/* epiq_warnings.h - every warning the library can give: its code, what it is about, and what it means. epiq.h includes
 * this file. The table of docs/json.md is made from it; a new warning is a row here, at the end.
 */
#ifndef EPIQ_WARNINGS_H
#define EPIQ_WARNINGS_H

/* What a warning is about. A model passes on those about its data and its run, not those about one point. */
typedef enum {
    EPIQ_ABOUT_DATA,    /* the table */
    EPIQ_ABOUT_RUN,     /* how the answer was computed */
    EPIQ_ABOUT_POINT,   /* the points of this call */
    EPIQ_ABOUT_COMPARE, /* the models of a comparison */
    EPIQ_ABOUT_COMBINE  /* networks trained elsewhere */
} epiq_warning_scope;

#define EPIQ_WARNING_LIST(X)                                                                                           \
    X(EPIQ_W_DROPPED_ROWS, "dropped_rows", EPIQ_ABOUT_DATA, "`--missing drop` left rows out")                          \
    X(EPIQ_W_CONSTANT_COLUMNS, "constant_columns", EPIQ_ABOUT_DATA, "features with one value only")                    \
    X(EPIQ_W_CONSTANT_TARGET, "constant_target", EPIQ_ABOUT_DATA, "the target has one value only")                     \
    X(EPIQ_W_DUPLICATE_ROWS, "duplicate_rows", EPIQ_ABOUT_DATA,                                                        \
      "5 % of the rows or more have the features of an earlier row")                                                   \
    X(EPIQ_W_LAST_DIGITS, "last_digits", EPIQ_ABOUT_DATA,                                                              \
      "features, or the target, that vary only beyond their tenth digit, where doubles have few left")                 \
    X(EPIQ_W_ZERO_BY_CONSTRUCTION, "zero_by_construction", EPIQ_ABOUT_POINT,                                           \
      "`--bias 0` at the scaled origin: every network is exactly 0 there, and only the target's mean has a variance")  \
    X(EPIQ_W_JUMP, "jump", EPIQ_ABOUT_POINT,                                                                           \
      "`--bias-sd 0` at the scaled origin, where the kernel depends on the side one comes from")                       \
    X(EPIQ_W_OUTSIDE_RANGE, "outside_range", EPIQ_ABOUT_POINT,                                                         \
      "a point lies outside the range of the rows in some feature")                                                    \
    X(EPIQ_W_UNCORRECTED, "uncorrected", EPIQ_ABOUT_RUN,                                                               \
      "with `--time` there is no correction for leverage; IF is as published")                                         \
    X(EPIQ_W_JITTER, "jitter", EPIQ_ABOUT_RUN,                                                                         \
      "something had to be added to the diagonal of the kernel that `if`, the prediction, engine linear or the check " \
      "of the batches uses: of all rows, of a batch, or `--kernel empirical`'s")                                       \
    X(EPIQ_W_ILL_CONDITIONED, "ill_conditioned", EPIQ_ABOUT_RUN,                                                       \
      "some rows are combinations of others but for rounding, beside which `lambda n` is small, or iteration leaves "  \
      "more than 5 % of a standard deviation open in the data part or the prediction, or members of engine linear "    \
      "differ by less than rounding: the first digits may be wrong")                                                   \
    X(EPIQ_W_EMPIRICAL_KERNEL, "empirical_kernel", EPIQ_ABOUT_RUN,                                                     \
      "`--kernel empirical` makes IF noisy and too large")                                                             \
    X(EPIQ_W_OWN_KERNEL, "own_kernel", EPIQ_ABOUT_RUN,                                                                 \
      "`--linear-kernel own` makes a small procedural variance too large")                                             \
    X(EPIQ_W_NOISE_BY_ROW, "noise_by_row", EPIQ_ABOUT_POINT,                                                           \
      "IF with `--correction rowwise`: single rows' noise all but cancels at some points, where half of the value of " \
      "`unbiased` is given")                                                                                           \
    X(EPIQ_W_GROUPS_BY_ROW, "groups_by_row", EPIQ_ABOUT_RUN,                                                           \
      "there are groups, but leverage is corrected row by row and the errors are those of single rows: with "          \
      "`--probes` or without an inverse, a group of more than 4096 rows, or one that cannot be left out numerically; " \
      "the data variance may be far too small")                                                                        \
    X(EPIQ_W_PROBES, "probes", EPIQ_ABOUT_RUN,                                                                         \
      "leverages come from random probes, but for those of rows that decide a point; gives the standard error of IF "  \
      "this adds")                                                                                                     \
    X(EPIQ_W_NO_PREDICTIVE, "no_predictive", EPIQ_ABOUT_RUN,                                                           \
      "IF ran, but there is no prediction interval: the rows or groups are too few for this "                          \
      "level, a group has more than 4096 rows, or some group cannot be left out numerically")                          \
    X(EPIQ_W_OFF_CENTRE, "off_centre", EPIQ_ABOUT_POINT,                                                               \
      "the prediction lies outside its prediction interval, which is built on kernel regression")                      \
    X(EPIQ_W_STOPPED, "stopped", EPIQ_ABOUT_RUN,                                                                       \
      "ended early, on request (Ctrl-C, `epiq_ctx_finish`): EV from the networks finished, no BA; never in a file of " \
      "the command")                                                                                                   \
    X(EPIQ_W_CHECK, "check", EPIQ_ABOUT_POINT,                                                                         \
      "BA and IF + EV/m' differ by more than BA's interval allows at more points than chance explains")                \
    X(EPIQ_W_UNSURE_KAPPA, "unsure_kappa", EPIQ_ABOUT_RUN, "retraining: kappa is known to 40 % or worse")              \
    X(EPIQ_W_HIDDEN_BY_STARTS, "hidden_by_starts", EPIQ_ABOUT_POINT,                                                   \
      "retraining: at some points the procedural part is over 20 times the data part, which may be off by a factor "   \
      "of 2 there")                                                                                                    \
    X(EPIQ_W_FEW_MEMBERS, "few_members", EPIQ_ABOUT_RUN, "fewer than 10 networks for EV")                              \
    X(EPIQ_W_KERNEL_OFF, "kernel_off", EPIQ_ABOUT_COMBINE,                                                             \
      "combine: kernel regression does not explain `--y`, so the data variance means little")                          \
    X(EPIQ_W_YHAT_OFF, "yhat_off", EPIQ_ABOUT_COMBINE,                                                                 \
      "combine: `--yhat` is far from kernel regression's prediction, so the data variance means little")               \
    X(EPIQ_W_COUNTED_HEADER, "counted_header", EPIQ_ABOUT_COMBINE,                                                     \
      "combine: the first row of a matrix numbers its columns, and counts as a network")                               \
    X(EPIQ_W_FEW_ROWS_DECIDE, "few_rows_decide", EPIQ_ABOUT_POINT,                                                     \
      "the data variance rests on one or two rows (fewer than 2 degrees of freedom): its interval is very wide, or "   \
      "has no upper end; `epiq predict` and Python's `EpistemicRegressor.predict` count such rows too")                \
    X(EPIQ_W_ONE_NETWORK, "one_network", EPIQ_ABOUT_COMBINE,                                                           \
      "combine: one member or one batch is kept in the file of `--append`, and its spread takes another")              \
    X(EPIQ_W_ONE_LEFT_OUT, "one_left_out", EPIQ_ABOUT_COMBINE, "combine: `--left-out` has one network for each row")   \
    X(EPIQ_W_LEFT_OUT_SEEN, "left_out_seen", EPIQ_ABOUT_COMBINE,                                                       \
      "combine: the networks of `--left-out` seem to have seen the rows")                                              \
    X(EPIQ_W_ONE_START, "one_start", EPIQ_ABOUT_COMBINE,                                                               \
      "combine: `--retrained` has one network for each target vector, so that the start's part is in the data "        \
      "variance")                                                                                                      \
    X(EPIQ_W_STARTS_DIFFER, "starts_differ", EPIQ_ABOUT_COMBINE,                                                       \
      "combine: plus and minus of a pair seem to be trained from different starts, or replicates are too few")         \
    X(EPIQ_W_TARGETS_UNLIKE, "targets_unlike", EPIQ_ABOUT_COMBINE,                                                     \
      "combine: retrained networks do not answer to the targets of this seed as the kernel given does")                \
    X(EPIQ_W_RETRAIN_SILENT, "retrain_silent", EPIQ_ABOUT_COMBINE,                                                     \
      "combine: the data variance is lost in the spread between starts")                                               \
    X(EPIQ_W_FEW_REPLICATES, "few_replicates", EPIQ_ABOUT_COMBINE,                                                     \
      "combine: the data variance has less than two degrees of freedom")                                               \
    X(EPIQ_W_ALREADY_THERE, "already_there", EPIQ_ABOUT_COMBINE,                                                       \
      "combine: so many of the networks given were in the file of `--append` already; each counts once")               \
    X(EPIQ_W_APPROXIMATED, "approximated", EPIQ_ABOUT_RUN,                                                             \
      "`--solver auto`: the exact solution did not fit into memory, so another was taken")                             \
    X(EPIQ_W_SCRATCH, "scratch", EPIQ_ABOUT_RUN, "the factor lies in a file of `--scratch` while the command runs")    \
    X(EPIQ_W_SMALL_BATCHES, "small_batches", EPIQ_ABOUT_RUN,                                                           \
      "batches are so small that BA, of which a part is made, had to be halved, or more: networks on them differ far " \
      "more by their starts than networks on all rows")                                                                \
    X(EPIQ_W_BA_UNCORRECTED, "ba_uncorrected", EPIQ_ABOUT_RUN,                                                         \
      "BA, of which a part or the ensemble's variance is made, could not be corrected for small batches: above 2048 "  \
      "rows that takes a kernel that was factorised for something else")                                               \
    X(EPIQ_W_NOT_IN_KERNEL_REGIME, "not_in_kernel_regime", EPIQ_ABOUT_RUN, "EV is far from the infinite-width value")  \
    X(EPIQ_W_UNCONVERGED, "unconverged", EPIQ_ABOUT_RUN, "some networks did not converge (none at all is exit 3)")     \
    X(EPIQ_W_STOPPED_EARLY, "stopped_early", EPIQ_ABOUT_RUN,                                                           \
      "`gd`, `sgd` or `flow` was still improving when `--steps` ended it")                                             \
    X(EPIQ_W_NEGATIVE_DIFFERENCE, "negative_difference", EPIQ_ABOUT_POINT,                                             \
      "a part that is a difference came out negative and is withheld; gives the raw value")                            \
    X(EPIQ_W_LOST_IN_ROUNDING, "lost_in_rounding", EPIQ_ABOUT_POINT,                                                   \
      "engine infinite: the procedural variance is below rounding, or half of it is what iteration leaves open, at "   \
      "some points and withheld there")                                                                                \
    X(EPIQ_W_OUT_OF_RANGE, "out_of_range", EPIQ_ABOUT_POINT,                                                           \
      "in units of the target, or their squares, some number is too large or too small for a double, and withheld")    \
    X(EPIQ_W_FAILED, "failed", EPIQ_ABOUT_COMPARE,                                                                     \
      "compare: a model could not be computed, and its numbers are `null`; says why")                                  \
    X(EPIQ_W_NOT_COMPARED, "not_compared", EPIQ_ABOUT_COMPARE,                                                         \
      "compare: models without bias are 0 at the scaled origin, one of the points, whatever the data are; their "      \
      "variance is taken as unknown (`null`), and they are not chosen unless all are so")                              \
    X(EPIQ_W_EDGE, "edge", EPIQ_ABOUT_COMPARE,                                                                         \
      "compare: the choice is the smallest or largest of the lambdas or widths tried, unless a width is 16 or less, "  \
      "or 1024 or more")                                                                                               \
    X(EPIQ_W_UNCONVERGED_FOLDS, "unconverged_folds", EPIQ_ABOUT_COMPARE,                                               \
      "compare: some networks trained without a fold did not converge")                                                \
    X(EPIQ_W_ENSEMBLE_SIZE, "ensemble_size", EPIQ_ABOUT_RUN,                                                           \
      "BA alone cannot tell of an ensemble whose size is not the number of batches")                                   \
    X(EPIQ_W_NO_SKILL, "no_skill", EPIQ_ABOUT_RUN,                                                                     \
      "on rows they have not seen, the networks predict no better than the mean of the target, as far as the rows "    \
      "can "                                                                                                           \
      "tell (R2 is less than two standard errors above 0, with few rows more)")                                        \
    X(EPIQ_W_OUTSIDE_DATA, "outside_data", EPIQ_ABOUT_POINT,                                                           \
      "a point lies so far from all rows that their errors say nothing of it, and no prediction interval is given; "   \
      "not where `outside_range` warns already")                                                                       \
    X(EPIQ_W_INDEX_COLUMN, "index_column", EPIQ_ABOUT_DATA,                                                            \
      "the first column, which has no name or is `Unnamed: 0`, numbers or names the rows and was left out")            \
    X(EPIQ_W_COUNTING_COLUMN, "counting_column", EPIQ_ABOUT_DATA, "a feature counts the rows: 1, 2, 3 and so on")      \
    X(EPIQ_W_READ_AS_NUMBERS, "read_as_numbers", EPIQ_ABOUT_DATA,                                                      \
      "numbers written with currencies, percent signs, separators of thousands or decimal commas")                     \
    X(EPIQ_W_CATEGORIES, "categories", EPIQ_ABOUT_DATA,                                                                \
      "columns of texts with few values, which became 0/1 columns as by `--onehot`")                                   \
    X(EPIQ_W_LATIN1, "latin1", EPIQ_ABOUT_DATA, "the file is not UTF-8 and was read as Latin-1")                       \
    X(EPIQ_W_TWO_VALUES, "two_values", EPIQ_ABOUT_DATA,                                                                \
      "the target has two values only, or three whole numbers, and looks like classes")                                \
    X(EPIQ_W_EXTRA_COLUMNS, "extra_columns", EPIQ_ABOUT_POINT,                                                         \
      "columns in a file of new rows that the data does not have; `epiq predict` says so on standard error")           \
    X(EPIQ_W_MEAN_ROW, "mean_row", EPIQ_ABOUT_RUN,                                                                     \
      "no point was named, and these options cannot leave rows out, so that the question is about the mean row")       \
    X(EPIQ_W_COVERAGE, "coverage", EPIQ_ABOUT_POINT,                                                                   \
      "score: the intervals of y hold fewer of the rows than their level says, by more than chance")                   \
    X(EPIQ_W_SEEN_ROWS, "seen_rows", EPIQ_ABOUT_POINT,                                                                 \
      "score: most rows have the features of rows that the model has learned from")                                    \
    X(EPIQ_W_SLOW_BLAS, "slow_blas", EPIQ_ABOUT_RUN,                                                                   \
      "OpenBLAS uses kernels for far older processors than this one, or was told to by `OPENBLAS_CORETYPE`; names "    \
      "the value that is right")                                                                                       \
    X(EPIQ_W_SUBSET, "subset", EPIQ_ABOUT_RUN,                                                                         \
      "solver subset, by name or because of many rows: no kernel matrix of all rows; how well the data part is known") \
    X(EPIQ_W_DEVICE, "device", EPIQ_ABOUT_RUN, "the GPU that could have saved time was not used; says why")            \
    X(EPIQ_W_BLOCKS, "blocks", EPIQ_ABOUT_DATA,                                                                        \
      "a feature of whole numbers, such as a patient's, decides another: rows may be repeated measurements, for "      \
      "`--group`")                                                                                                     \
    X(EPIQ_W_SENTINEL, "sentinel", EPIQ_ABOUT_DATA,                                                                    \
      "-999, 9999 or another number of nines stands, in two rows or more, far outside the other values of its "        \
      "column: it may stand for missing")                                                                              \
    X(EPIQ_W_TRAINING_ROWS, "training_rows", EPIQ_ABOUT_POINT,                                                         \
      "`--at` row:I: the networks were trained on this row too; `--at rows` asks networks that have not seen it")      \
    X(EPIQ_W_FEW_FOLD_MEMBERS, "few_fold_members", EPIQ_ABOUT_RUN,                                                     \
      "networks trained without a fold are so few, and differ so much by their starts, that the error of the mean of " \
      "all, the noise and the intervals of y are known roughly only")

/* Those that are notes, for information: nothing needs to be done. A result lists them apart. */
#define EPIQ_NOTE_LIST(X)                                                                                              \
    X(EPIQ_W_NOISE_BY_ROW)                                                                                             \
    X(EPIQ_W_PROBES)                                                                                                   \
    X(EPIQ_W_CHECK)                                                                                                    \
    X(EPIQ_W_HIDDEN_BY_STARTS)                                                                                         \
    X(EPIQ_W_FEW_ROWS_DECIDE)                                                                                          \
    X(EPIQ_W_ALREADY_THERE)                                                                                            \
    X(EPIQ_W_SCRATCH)                                                                                                  \
    X(EPIQ_W_INDEX_COLUMN)                                                                                             \
    X(EPIQ_W_CATEGORIES)                                                                                               \
    X(EPIQ_W_LATIN1)                                                                                                   \
    X(EPIQ_W_SUBSET)                                                                                                   \
    X(EPIQ_W_DEVICE)                                                                                                   \
    X(EPIQ_W_TRAINING_ROWS)

typedef enum {
#define EPIQ_WARNING_ENUM(name, code, scope, meaning) name,
    EPIQ_WARNING_LIST(EPIQ_WARNING_ENUM)
#undef EPIQ_WARNING_ENUM
} epiq_warning_kind;

#endif
