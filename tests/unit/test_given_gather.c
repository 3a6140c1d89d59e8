/* test_given_gather.c - the state file that networks are gathered in: the same in any order, merged, refused where it is of other
 * points or of something else, and written by several at once. */
#include "combined.h"
#include "epiq_combine.h"
#include "epiq_details.h"
#include "stats/stats.h"
#include "usual.h"

#include <pthread.h>

enum { ROWS = 7 };
static const double ALL[ROWS * 2] = {1, 5, 2, 4, 3, 3.5, 4, 2, 1.5, 1, 2, 4, 0.25, 9}; /* rows 1 and 5 are equal */

static double rounded_sum(void) /* depends on every bit and on the order of the networks */
{
    double sum = 0;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        for (ptrdiff_t k = 0; k < r->points[p]->member_count; k++) {
            sum = sum * 1.1 + r->points[p]->members[k];
        }
        sum += r->points[p]->prediction + r->points[p]->procedural.variance;
    }
    return sum;
}

TEST(networks_gathered_in_any_order_are_the_same)
{
    epiq_options o = usual_options();
    epiq_matrix whole = doubles("all", ROWS, 2, ALL), first = doubles("first", 4, 2, ALL),
                last = doubles("last", 3, 2, ALL + 8);
    o.state = fresh("whole");
    EQ(combine(GIVEN(.ensemble = &whole), &o), EPIQ_OK);
    EQ(r->given->added, ROWS);
    EQ(r->given->kept, ROWS);
    double want_sum = rounded_sum();
    char before[65] = "";
    for (ptrdiff_t k = 0; k < ROWS; k++) { /* in the order of their checksums */
        double row[2] = {r->points[0]->members[k], r->points[1]->members[k]};
        char hex[65];
        epiqp_sha256 sum = epiqp_sha256_start();
        epiqp_sha256_add(&sum, row, sizeof row);
        epiqp_sha256_end(&sum, hex);
        TRUE(strcmp(before, hex) <= 0);
        memcpy(before, hex, sizeof before);
    }
    double sorted[ROWS * 2];
    for (ptrdiff_t k = 0; k < ROWS; k++) {
        sorted[2 * k] = r->points[0]->members[k], sorted[2 * k + 1] = r->points[1]->members[k];
    }
    epiq_matrix union_ = doubles("sorted", ROWS, 2, sorted);
    epiq_options plain = usual_options();
    EQ(combine(GIVEN(.ensemble = &union_), &plain), EPIQ_OK);
    NEAR(rounded_sum(), want_sum, 0);
    EQ(combine(GIVEN(.ensemble = &whole), &plain), EPIQ_OK); /* without a file they stay in their order, */
    TRUE(rounded_sum() != want_sum && r->points[0]->members[1] == 2);
    CLOSE(r->points[0]->procedural.variance, epiqp_variance((double[]){1, 2, 3, 4, 1.5, 2, 0.25}, ROWS), 1e-14);
    for (int order = 0; order < 2; order++) { /* and the equal rows come from two calls, so that they are one network */
        o.state = fresh("parts");
        EQ(combine(GIVEN(.ensemble = order ? &last : &first), &o), EPIQ_OK);
        EQ(combine(GIVEN(.ensemble = order ? &first : &last), &o), EPIQ_OK);
        EQ(r->given->members, ROWS - 1);
        EQ(r->given->kept, ROWS - 1);
        SAYS(noted("already_there"), order ? "1 of 4" : "1 of 3");
        static double sum_of_first;
        sum_of_first = order ? sum_of_first : rounded_sum();
        NEAR(rounded_sum(), sum_of_first, 0);
    }
    o.state = fresh("whole");
    for (int again = 0; again < 3; again++) { /* the same file twice adds nothing, equal rows of one call do */
        EQ(combine(GIVEN(.ensemble = &whole), &o), EPIQ_OK);
        EQ(r->given->added, again ? 0 : ROWS);
        EQ(r->given->members, ROWS);
        NEAR(rounded_sum(), want_sum, 0);
        TRUE(!again == !noted("already_there"));
    }
    EQ(combine(GIVEN(), &o), EPIQ_OK); /* nothing new: what is there */
    EQ(r->given->added, 0);
    NEAR(rounded_sum(), want_sum, 0);
    done();
    fresh("whole"), fresh("parts");
}

TEST(one_network_waits_for_another)
{
    epiq_options o = usual_options();
    epiq_matrix a = doubles("a", 1, 2, ALL), b = doubles("b", 1, 2, ALL + 2), c1 = doubles("c", 1, 2, ALL + 4);
    o.state = fresh("single");
    EQ(combine(GIVEN(.ensemble = &a), &o), EPIQ_OK);
    SENTENCE(warned("one_network"));
    TRUE(!r->points[0]->procedural.known && !r->points[0]->prediction_variance.known && !(r->ran->methods & EPIQ_EV));
    NEAR(r->points[0]->prediction, 1, 0);
    EQ(r->points[1]->member_count, 1);
    EQ(combine(GIVEN(.ensemble = &b, .batched = &c1), &o), EPIQ_OK);
    TRUE(r->points[0]->procedural.known && !r->points[0]->ensemble.known);
    CLOSE(r->points[0]->procedural.variance, 0.5, 1e-15);
    SENTENCE(warned("one_network"));
    EQ(combine(GIVEN(.batched = &b), &o), EPIQ_OK); /* a batch, though its numbers are a member's too */
    EQ(r->given->members, 2);
    EQ(r->given->batches, 2);
    TRUE(!warned("one_network"));
    done();
    fresh("single");
}

TEST(other_points_are_refused)
{
    static const char *const names[] = {"a", "b"}, *const turned[] = {"b", "a"};
    static const double x[] = {1, 2, 3, 4}, moved[] = {1, 2, 3, 4.5};
    static const float same[] = {1, 2, 3, 4};
    epiq_options o = usual_options();
    epiq_matrix H = doubles("m.csv", 3, 2, ALL), three = doubles("n.csv", 2, 3, ALL), X = doubles("x.npy", 2, 2, x),
                X1 = doubles("moved.npy", 2, 2, moved), turn = doubles("t.csv", 3, 2, ALL + 4),
                X2 = {.size = sizeof(epiq_matrix),
                      .name = "same.npy",
                      .rows = 2,
                      .columns = 2,
                      .real = EPIQ_FLOAT32,
                      .a = same};
    o.state = fresh("points");
    H.column = names;
    turn.column = turned;
    EQ(combine(GIVEN(.ensemble = &H, .at = &X), &o), EPIQ_OK);
    EQ(combine(GIVEN(.ensemble = &three), &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), o.state);
    EQ(combine(GIVEN(.ensemble = &turn), &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), o.state);
    EQ(combine(GIVEN(.ensemble = &H, .at = &X1), &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), "checksums");
    EQ(combine(GIVEN(.ensemble = &H, .at = &X2), &o), EPIQ_OK); /* the same places, in another precision */
    EQ(r->given->kept, 3);                                      /* nothing was added meanwhile */
    turn.column = NULL;
    EQ(combine(GIVEN(.ensemble = &turn), &o), EPIQ_OK);
    STR(r->points[1]->at, "b"); /* the file knows */
    done();
    fresh("points");
}

/* What was known only later is compared from then on. */
TEST(a_file_learns_names)
{
    static const char *const names[] = {"a", "b"}, *const others[] = {"a", "c"};
    epiq_options o = usual_options();
    epiq_matrix H = doubles("m", 3, 2, ALL), L = doubles("l", 3, 2, ALL + 6);
    o.state = fresh("names");
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_OK);
    L.column = names;
    EQ(combine(GIVEN(.ensemble = &L), &o), EPIQ_OK);
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_OK);
    STR(r->points[1]->at, "b");
    L.column = others;
    EQ(combine(GIVEN(.ensemble = &L), &o), EPIQ_E_DATA);
    done();
    fresh("names");
}

TEST(files_are_merged)
{
    epiq_options o = usual_options(), plain = o;
    epiq_matrix whole = doubles("all", 6, 2, ALL), first = doubles("first", 3, 2, ALL),
                last = doubles("last", 4, 2, ALL + 4), three = doubles("n.csv", 2, 3, ALL);
    const char *a = fresh("a"), *b = fresh("b"), *w = fresh("w");
    o.state = w;
    EQ(combine(GIVEN(.ensemble = &whole), &o), EPIQ_OK);
    o.state = a;
    EQ(combine(GIVEN(.ensemble = &first), &o), EPIQ_OK);
    o.state = b;
    EQ(combine(GIVEN(.ensemble = &last), &o), EPIQ_OK); /* row 2 is in both, and so are rows 1 and 5 */
    const char *files[] = {a, b};
    EQ(combine(GIVEN(.merge = files, .merge_count = 2), &plain), EPIQ_OK);
    EQ(r->given->members, 5);
    EQ(r->given->kept, 0);
    double sum = rounded_sum();
    SAYS(noted("already_there"), "2 of 7 networks");
    files[0] = b, files[1] = a;
    EQ(combine(GIVEN(.merge = files, .merge_count = 2), &plain), EPIQ_OK);
    NEAR(rounded_sum(), sum, 0);
    o.state = a;
    EQ(combine(GIVEN(.merge = &b, .merge_count = 1), &o), EPIQ_OK);
    EQ(r->given->added, 2);
    EQ(r->given->kept, 5);
    NEAR(rounded_sum(), sum, 0);
    EQ(combine(GIVEN(.merge = &a, .merge_count = 1), &o), EPIQ_OK); /* itself: nothing new, and no waiting */
    EQ(r->given->added, 0);
    o.state = b;
    EQ(combine(GIVEN(.ensemble = &three, .merge = &a, .merge_count = 1), &o), EPIQ_E_DATA);
    EQ(combine(GIVEN(), &o), EPIQ_OK);
    EQ(r->given->kept, 4);
    done();
    fresh("a"), fresh("b"), fresh("w");
}

TEST(only_its_own_files_are_taken)
{
    static const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 3, 2, 5, 4, 6};
    epiq_options o = usual_options();
    epiq_matrix H = doubles("m", 3, 2, ALL);
    const char *path = fresh("strange");
    o.width = 4, o.members = 2, o.methods = EPIQ_EV, o.state = path;
    epiq_ctx *other; /* estimate's */
    epiq_data *data;
    epiq_points *at;
    epiq_result *want;
    EQ(epiq_ctx_new(&other), EPIQ_OK);
    EQ(epiq_data_new(other, 6, 1, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(other, data, &at), EPIQ_OK);
    EQ(epiq_points_add(other, at, "mean"), EPIQ_OK);
    EQ(epiq_estimate(other, data, at, &o, &want), EPIQ_OK);
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_E_FILE);
    SAYS(epiq_message(c), path);
    EQ(combine(GIVEN(.ensemble = &H, .merge = &path, .merge_count = 1), &(epiq_options){0}), EPIQ_E_USAGE);
    epiq_options plain = usual_options();
    EQ(combine(GIVEN(.ensemble = &H, .merge = &path, .merge_count = 1), &plain), EPIQ_E_FILE);
    SAYS(epiq_message(c), path);
    o.state = fresh("combined"); /* and the other way round */
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_OK);
    epiq_result *none;
    EQ(epiq_estimate(other, data, at, &o, &none), EPIQ_E_FILE);
    SENTENCE(epiq_message(other));
    path = fresh("text");
    FILE *f = fopen(path, "w");
    for (int k = 0; k < 200; k++) {
        fputs("this is no database\n", f);
    }
    fclose(f);
    o.state = path;
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_E_FILE);
    SAYS(epiq_message(c), path);
    o.state = fresh("empty");
    EQ(combine(GIVEN(), &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), o.state);
    o.state = "/no/such/folder/state";
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_E_FILE);
    epiq_result_free(other, want);
    epiq_points_free(other, at);
    epiq_data_free(other, data);
    EQ(other->live_blocks, 0);
    epiq_ctx_free(other);
    done();
    fresh("strange"), fresh("combined"), fresh("text"), fresh("empty");
}

/* What fails after the networks were looked at adds none of them. */
TEST(a_failure_adds_nothing)
{
    static const double y[] = {1, 2}, I[] = {1, 3, 3, 1};
    epiq_options o = usual_options();
    epiq_matrix H = doubles("m", 3, 2, ALL), L = doubles("l", 3, 2, ALL + 6), Y = doubles("y", 2, 1, y),
                G = doubles("K", 2, 2, I), C = doubles("k0", 2, 2, I);
    o.state = fresh("failure");
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_OK);
    EQ(combine(GIVEN(.ensemble = &L, .y = &Y, .gram = &G, .cross = &C), &o), EPIQ_E_NUMERIC);
    EQ(combine(GIVEN(), &o), EPIQ_OK);
    EQ(r->given->kept, 3);
    done();
    fresh("failure");
}

enum { WRITERS = 4, EACH = 12 };
typedef struct {
    const char *path;
    int number, failures;
} writer;

static void *write_some(void *user)
{
    writer *w = user;
    epiq_ctx *own;
    epiq_options o = usual_options();
    o.state = w->path;
    o.threads = 1;
    w->failures += epiq_ctx_new(&own) != EPIQ_OK;
    for (int k = 0; k < EACH; k++) {
        double row[2] = {w->number, k};
        epiq_matrix m = doubles("row", 1, 2, row);
        epiq_result *mine;
        w->failures += epiq_combine(own, GIVEN(.ensemble = &m), &o, &mine) != EPIQ_OK;
        epiq_result_free(own, mine);
    }
    w->failures += own->live_blocks != 0;
    epiq_ctx_free(own);
    return NULL;
}

TEST(writers_at_once_lose_nothing)
{
    pthread_t thread[WRITERS];
    writer w[WRITERS];
    const char *path = fresh("writers");
    for (int k = 0; k < WRITERS; k++) {
        w[k] = (writer){path, k, 0};
        EQ(pthread_create(&thread[k], NULL, write_some, &w[k]), 0);
    }
    for (int k = 0; k < WRITERS; k++) {
        pthread_join(thread[k], NULL);
        EQ(w[k].failures, 0);
    }
    epiq_options o = usual_options();
    o.state = path;
    EQ(combine(GIVEN(), &o), EPIQ_OK);
    EQ(r->given->members, WRITERS * EACH);
    double sum = 0;
    for (ptrdiff_t k = 0; k < r->points[0]->member_count; k++) {
        sum += EACH * r->points[0]->members[k] + r->points[1]->members[k];
    }
    NEAR(sum, WRITERS * EACH * (WRITERS * EACH - 1) / 2, 0); /* each number from 0 on once */
    done();
    fresh("writers");
}
