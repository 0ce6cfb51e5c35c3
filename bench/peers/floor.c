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
typedef struct { uint64_t name; int grades[4]; int relevant, retrieved; } Query;

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
    size_t lines = 0, slots = 1024, queries = 0, judged = 0;
    for (const char *at = qrels.at; at < qrels.end && (at = memchr(at, '\n', qrels.end - at)); at++) lines++;
    while (slots < 2 * lines) slots *= 2;
    Judgment *judgments = calloc(slots, sizeof *judgments);
    Query *all = calloc(slots, sizeof *all); /* by hash of the name */
    double discount[DEPTH];
    for (int rank = 0; rank < DEPTH; rank++) discount[rank] = 1 / log2(rank + 2);
    while (qrels.at < qrels.end) {
        uint64_t name = field(&qrels, 1), pair, slot = name & (slots - 1);
        skip(&qrels, ' ');
        pair = field(&qrels, name);
        int grade = (int)number(&qrels);
        if (grade < 0 || grade > 3) fail("grades are 0 to 3");
        while (all[slot].name && all[slot].name != name) slot = (slot + 1) & (slots - 1);
        queries += !all[slot].name;
        all[slot].name = name, all[slot].grades[grade]++, all[slot].relevant += grade > 0;
        for (slot = pair & (slots - 1); judgments[slot].pair; slot = (slot + 1) & (slots - 1))
            if (judgments[slot].pair == pair) fail("a document is judged twice");
        judgments[slot] = (Judgment){pair, grade};
    }
    double ndcg = 0, ap = 0, rr = 0, recall = 0, precision = 0;
    static uint64_t seen[MOST];
    while (run.at < run.end) {
        const char *line = run.at;
        uint64_t name = field(&run, 1), slot = name & (slots - 1);
        size_t length = run.at - line;
        while (all[slot].name && all[slot].name != name) slot = (slot + 1) & (slots - 1);
        Query *query = all[slot].name ? &all[slot] : NULL;
        if (query && query->retrieved) fail("the lines of a query are apart");
        double last = INFINITY, gain = 0, ideal = 0, precisions = 0;
        int rank = 0, hits = 0, first = 0, early = 0, top = 0;
        memset(seen, 0, sizeof seen);
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
            uint64_t place = pair & (MOST - 1);
            for (; seen[place]; place = (place + 1) & (MOST - 1))
                if (seen[place] == pair) fail("a document is ranked twice");
            seen[place] = pair;
            for (slot = pair & (slots - 1); judgments[slot].pair; slot = (slot + 1) & (slots - 1)) {
                if (judgments[slot].pair != pair) continue;
                int grade = judgments[slot].grade;
                if (rank < DEPTH) gain += grade * discount[rank], top += grade > 0;
                if (grade) precisions += ++hits / (rank + 1.0), early += rank < RECALL;
                if (grade && !first) first = rank + 1;
                break;
            }
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
