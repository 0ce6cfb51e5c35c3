// Six metrics of trec_eval 10 in JavaScript. Test them:
// python conformance/run.py trec node conformance/examples/trec.mjs
import { createInterface } from "node:readline";

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const dcg = (grades) => sum(grades.map((grade, index) => Math.max(grade, 0) / Math.log2(index + 2)));
const hits = (grades) => grades.filter((grade) => grade > 0).length;
const precisions = (grades) => grades.map((grade, i) => (grade > 0 ? hits(grades.slice(0, i + 1)) / (i + 1) : 0));

// of a query: grades in rank order, grades of all judged documents, the number of relevant ones, the cutoff
const METRICS = {
  P: (grades, _, __, k) => hits(grades.slice(0, k)) / k,
  R: (grades, _, relevant, k) => (relevant ? hits(grades.slice(0, k)) / relevant : 0),
  Success: (grades, _, __, k) => Number(hits(grades.slice(0, k)) > 0),
  RR: (grades) => (hits(grades) ? 1 / (grades.findIndex((grade) => grade > 0) + 1) : 0),
  AP: (grades, _, relevant, k) => (relevant ? sum(precisions(grades).slice(0, k)) / relevant : 0),
  nDCG: (grades, judged, _, k) => {
    const ideal = dcg([...judged].sort((a, b) => b - a).slice(0, k));
    return ideal ? dcg(grades.slice(0, k)) / ideal : 0;
  },
};
const NEEDS_CUTOFF = { P: true, R: true, Success: true, RR: false };

function valueOf(name, cutoff, qrels, run) {
  const grades = new Map(qrels);
  if (new Set(run.map(([id]) => id)).size < run.length) throw new Error("duplicate document");
  const scored = run.map(([id, score]) => [id, Number(score) || 0]); // "abc" is read as 0
  const ranked = scored.sort(([a, x], [b, y]) => y - x || byBytes(b, a)); // ties: the higher id first
  const judged = [...grades.values()];
  return METRICS[name](ranked.map(([id]) => grades.get(id) ?? 0), judged, hits(judged), cutoff);
}

function answer({ metric, options, qrels, run }) {
  const [, name, digits] = metric.match(/^(\w+?)(?:@(\d+))?$/) ?? [];
  const needsCutoff = NEEDS_CUTOFF[name] ?? Boolean(digits);
  if (!METRICS[name] || needsCutoff !== Boolean(digits) || !["", "-c"].includes(options)) return { skip: "not implemented" };
  const queries = Object.keys(qrels);
  if (options !== "-c" && queries.some((query) => !run[query])) return { error: "a query is missing" };
  try {
    const cutoff = digits && Number(digits);
    return { value: sum(queries.map((query) => valueOf(name, cutoff, qrels[query], run[query] ?? []))) / queries.length };
  } catch (error) {
    return { error: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  console.log(JSON.stringify({ id: request.id, ...answer(request) }));
}
