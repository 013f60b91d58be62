/* People search for what they want to do: guides come before the pages of the APIs, and before how it works inside. */
const LIFT = [
  ["tutorial", 5], ["guides/", 30], ["troubleshooting", 20], ["upgrades", 20], ["changes", -10], ["design/", -5],
  ["contributing/", -10],
];

var Scorer = {
  score: ([name, , , , score]) => score + (LIFT.find(([start]) => name.startsWith(start))?.[1] ?? 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
