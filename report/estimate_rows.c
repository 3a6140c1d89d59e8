/* estimate_rows.c - how sure predictions for rows like those of the table are: the rows asked of networks that have not seen them,
 * summed up, and the least sure of them.
 */
#include "report/estimate_doc.h"

#include <math.h>

static doc_cell cell_spread(const epiq_quantiles *q, double (*of)(double))
{
    return q->known ? cell_words("%s to %s", epiqp_rounded_sd(of(q->q05)).text, epiqp_rounded_sd(of(q->q95)).text)
                    : cell_text("");
}

static double itself(double v)
{
    return v;
}

static double half(double v)
{
    return v / 2;
}

static void write_quantity(doc *d, const char *name, const char *key, const epiq_quantiles *q, double (*of)(double))
{
    doc_row(d, false, phrase_of("data-quantity=\"%s\"", key).text, cell_text(name),
            q->known ? cell_number(of(q->median)) : cell_text("unknown"), cell_spread(q, of));
}

/* Standard deviations; halves of intervals. */
static void write_quantities(doc *d)
{
    const epiq_summary *s = d->r->summary;
    const bool folds = d->r->fit->folds > 0;
    const phrase interval = phrase_of("%.4g %% prediction interval: +-", 100 * d->run->options->level),
                 caption = phrase_of("Standard deviations over %td rows", s->rows),
                 mean = phrase_of("of the mean of %td networks", d->r->ran->members);
    const doc_column columns[] = {
        {"", "", DOC_LEFT | DOC_NAME, .gap = 2, .width = -36},
        {"typical row", "typical row", 0, 2, 2, .width = 11, .name = "median"},
        {"9 rows in 10", "9 rows in 10", .align = DOC_LEFT, .gap = 3},
    };
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = caption.text, .caption_shown = true});
    write_quantity(d, folds ? mean.text : "of the prediction", "prediction_sd", &s->prediction_sd, itself);
    write_quantity(d, "  because of the data", "data", &s->data, sqrt);
    write_quantity(d, "  of one network, by retraining", "procedural", &s->procedural, sqrt);
    write_quantity(d, "noise, which networks cannot lower", "noise_sd", &s->noise_sd, itself);
    write_quantity(d, interval.text, "interval_width", &s->interval_width, half);
    doc_table_close(d);
}

void write_rows(doc *d)
{
    const phrase by = fit_by(d->r->fit);
    doc_say(d, "\nHow sure are predictions for rows like these %td, by networks that have not seen them (%s)?\n\n",
            d->r->summary->rows, by.text);
    doc_heading(d, "Rows like these");
    doc_page(d, "<p>%td rows, each predicted by networks that have not seen it (%s).</p>\n", d->r->summary->rows,
             by.text);
    write_quantities(d);
    doc_say(d, "\n");
    doc_page(d, "<p>");
    write_least_sure(d);
    doc_page(d, "</p>\n");
}
