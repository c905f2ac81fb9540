// Command peers measures trinity's engine beside other programs on the same work: the same weights, tokens and batches,
// in turns, in one run.
//
// Every program, trinity too, is a process of its own that answers one JSON line per piece of work with the seconds it
// took (program.go; the peers' side is peer.py, ours is serve.go). For each row of work (row.go) and each peer, the
// peer's settings are tried once (dtype, threads, compiler) and the fastest goes on; then trinity and the peer take
// turns (compare.go). The table (table.go) has the medians, their ratios, and what the ratios should be.
//
// The weights are random (folder.go): a rate does not depend on them. That the programs do compute the same is checked
// by a number that each answers: the mean loss of training, a log-probability after a prompt.
package main
