/* The least that five metrics of a sorted run can cost on one core: map both files, parse them,
   check order and duplicates, and print the means as JSON.

       cc -O3 -o floor floor.c -lm && ./floor QRELS RUN

   It takes what bench/workloads.py writes: fields divided by single blanks, no ties, whole grades,
   the lines of a query together. */

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { DEPTH = 10, RECALL = 100, MOST = 4096 };
typedef struct { const char *at, *end; } Text;
typedef struct { uint64_t pair; int grade; } Judgment;
typedef struct { uint64_t name; int64_t first; int judged, relevant, retrieved, grades[4]; } Query;
typedef struct { uint64_t pair; int64_t query; int grade; } Cell; /* empty where the query is another one */

static Cell *cell(Cell *table, uint64_t pair, int64_t query) {
    uint64_t slot = pair & (MOST - 1);
    while (table[slot].query == query && table[slot].pair != pair) slot = (slot + 1) & (MOST - 1);
    return &table[slot];
}

static void fail(const char *reason) { fprintf(stderr, "floor: %s\n", reason); exit(2); }

static Text map(const char *path) {
    struct stat facts;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &facts) || !facts.st_size) fail(path);
    const char *at = mmap(NULL, facts.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (at == MAP_FAILED) fail(path);
    return (Text){at, at + facts.st_size};
}

/* A hash of the next field; the text then begins behind its blank or line feed. */
static inline uint64_t field(Text *text, uint64_t hash) {
    while (text->at < text->end && *text->at != ' ' && *text->at != '\n')
        hash = (hash ^ (unsigned char)*text->at++) * 0x9E3779B97F4A7C15u;
    text->at++;
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u; /* the low bits choose the slot */
    return hash ^ hash >> 29;
}

static inline void skip(Text *text, char end) {
    const char *next = memchr(text->at, end, text->end - text->at);
    text->at = next ? next + 1 : text->end;
}

static inline double number(Text *text) {
    const char *begin = text->at;
    int64_t digits = 0, scale = 1;
    int negative = *begin == '-', decimals = 0;
    for (text->at += negative; *text->at != ' ' && *text->at != '\n'; text->at++) {
        if (*text->at == '.') { decimals = 1; continue; }
        if (*text->at < '0' || *text->at > '9') fail("a score is not a plain number");
        digits = digits * 10 + *text->at - '0';
        if (decimals) scale *= 10;
    }
    if (text->at - begin > 17) fail("a score has too many digits");
    text->at++;
    return (negative ? -digits : digits) / (double)scale;
}

int main(int count, char **paths) {
    if (count != 3) fail("usage: floor QRELS RUN");
    Text qrels = map(paths[1]), run = map(paths[2]);
    size_t lines = 0, slots = 1024, queries = 0, judged = 0, size = 0;
    for (const char *at = qrels.at; at < qrels.end && (at = memchr(at, '\n', qrels.end - at)); at++) lines++;
    while (slots < 2 * lines) slots *= 2;
    Judgment *judgments = malloc((lines + 1) * sizeof *judgments);
    Query *all = calloc(slots, sizeof *all), *query = NULL; /* by hash of the name */
    double discount[DEPTH];
    for (int rank = 0; rank < DEPTH; rank++) discount[rank] = 1 / log2(rank + 2);
    while (qrels.at < qrels.end) {
        uint64_t name = field(&qrels, 1), slot = name & (slots - 1);
        skip(&qrels, ' ');
        uint64_t pair = field(&qrels, name);
        int grade = (int)number(&qrels);
        if (grade < 0 || grade > 3) fail("grades are 0 to 3");
        while (all[slot].name && all[slot].name != name) slot = (slot + 1) & (slots - 1);
        if (all[slot].name && &all[slot] != query) fail("the judgments of a query are apart");
        query = &all[slot];
        if (!query->name) query->name = name, query->first = size, queries++;
        if (++query->judged >= MOST / 2) fail("a query has too many judgments");
        query->grades[grade]++, query->relevant += grade > 0;
        judgments[size++] = (Judgment){pair, grade};
    }
    double ndcg = 0, ap = 0, rr = 0, recall = 0, precision = 0;
    static Cell judged_here[MOST], ranked_here[MOST];
    int64_t number_of_query = 0;
    while (run.at < run.end) {
        const char *line = run.at;
        uint64_t name = field(&run, 1), slot = name & (slots - 1);
        size_t length = run.at - line;
        while (all[slot].name && all[slot].name != name) slot = (slot + 1) & (slots - 1);
        query = all[slot].name ? &all[slot] : NULL;
        if (query && query->retrieved) fail("the lines of a query are apart");
        number_of_query++;
        for (int i = 0; query && i < query->judged; i++) {
            Judgment judgment = judgments[query->first + i];
            Cell *free_cell = cell(judged_here, judgment.pair, number_of_query);
            if (free_cell->query == number_of_query) fail("a document is judged twice");
            *free_cell = (Cell){judgment.pair, number_of_query, judgment.grade};
        }
        double last = INFINITY, gain = 0, ideal = 0, precisions = 0;
        int rank = 0, hits = 0, first = 0, early = 0, top = 0;
        for (run.at = line; run.end - run.at > (long)length && !memcmp(run.at, line, length); rank++) {
            run.at += length;
            skip(&run, ' ');
            uint64_t pair = field(&run, name);
            skip(&run, ' ');
            double score = number(&run);
            skip(&run, '\n');
            if (!(score < last)) fail("scores do not fall");
            last = score;
            if (rank >= MOST / 2) fail("a list is too long");
            Cell *own = cell(ranked_here, pair, number_of_query);
            if (own->query == number_of_query) fail("a document is ranked twice");
            *own = (Cell){pair, number_of_query, 0};
            int grade = (own = cell(judged_here, pair, number_of_query))->query == number_of_query ? own->grade : 0;
            if (!grade) continue;
            if (rank < DEPTH) gain += grade * discount[rank], top++;
            precisions += ++hits / (rank + 1.0), early += rank < RECALL;
            if (!first) first = rank + 1;
        }
        if (!query) continue;
        query->retrieved = rank, judged++;
        for (int grade = 3, place = 0; grade; grade--)
            for (int i = 0; i < query->grades[grade] && place < DEPTH; i++) ideal += grade * discount[place++];
        if (!query->relevant) continue;
        ndcg += gain / ideal, ap += precisions / query->relevant, rr += first ? 1.0 / first : 0;
        recall += (double)early / query->relevant, precision += (double)top / DEPTH;
    }
    if (!judged) fail("no query of the run is judged");
    printf("{\"nDCG@10\": %.17g, \"AP\": %.17g, \"RR\": %.17g, \"R@100\": %.17g, \"P@10\": %.17g}\n",
           ndcg / queries, ap / queries, rr / queries, recall / queries, precision / queries);
    return 0;
}
