/* glossary.c - the words of a page explained at its foot: those that it uses, in this order. docs/glossary.md has all. */
#include "report/doc.h"

static const struct {
    unsigned word;
    const char *name, *meaning;
} WORDS[] = {
    {WORD_PARTS, "retraining (procedural) variance",
     "what training again from another random start would change in one network's prediction, with the same rows"},
    {WORD_PARTS, "data variance", "what other rows of the same kind, as many as there are, would change"},
    {WORD_PARTS, "standard deviation",
     "the square root of a variance, in the units of the target; that of a prediction does not hold what all such "
     "networks get wrong alike, which prediction intervals do"},
    {WORD_NOISE, "noise",
     "how far observations lie from the prediction, whatever retraining and other rows would change; a part may be "
     "what these rows are too few to teach"},
    {WORD_ENSEMBLE, "ensemble",
     "networks whose predictions are averaged: its variance is the data part plus the retraining part divided by their "
     "number"},
    {WORD_EV, "ev", "ensemble variance: the retraining part, from the spread of the networks' predictions"},
    {WORD_IF, "if", "influence function: the data part, from how much each row moves the prediction"},
    {WORD_RETRAIN, "retrain",
     "retraining: the data part of the networks themselves, some of which are trained again on changed targets"},
    {WORD_BA, "ba", "batching: the variance of an ensemble, from networks each trained on a part of the rows"},
    {WORD_INFINITE, "infinite", "the closed form of infinitely wide networks"},
    {WORD_KERNEL, "kernel regression", "the mean prediction of infinitely wide networks"},
    {WORD_LOO, "leave-one-out", "each row, or group of rows, predicted by what was learned from all others"},
    {WORD_FOLDS, "fold", "rows left out together and predicted by networks that have not seen them"},
    {WORD_LAMBDA, "λ, lambda", "the weight of the penalty that holds the networks' weights near their random start"},
    {WORD_FRONT, "front", "the models that no other beats in both error and standard deviation"},
    {WORD_PLAN, "even chance, likely, cautious",
     "plans that reach the goal with a probability of about 50 %, of 80 % and of that of the interval's upper end: how "
     "large the parts are, and how they fall with rows, are estimates"},
    {WORD_SCORE, "score", "what candidates are ranked by; the first line of the page says what it is"},
    {WORD_SCORE, "pick", "a candidate chosen for the batch, as if those before it had been observed as predicted"},
    {WORD_INTERVAL, "interval", "where the true value lies with the probability stated, as far as the method can know"},
    {WORD_LOG, "log scale", "equal distances along such an axis are equal ratios, not equal differences"},
};

void doc_glossary(doc *d, unsigned words)
{
    if (!d->page || !words) return;
    doc_heading(d, "Words on this page");
    doc_page(d, "<dl class=\"words\">\n");
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++) {
        doc_page_when(d, words & WORDS[k].word, "<dt>%s</dt><dd>%s</dd>\n", WORDS[k].name, WORDS[k].meaning);
    }
    doc_page(d, "</dl>\n");
}
