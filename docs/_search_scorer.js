// How the search of the manual ranks: entries of the index (up to 100) come first, then pages whose
// title has the word, then classes and functions (up to 26), then pages whose text has it.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 40,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
