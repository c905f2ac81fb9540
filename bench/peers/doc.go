// Command peers compares the speed of trinity's engine with that of other programs on the same work: the same
// weights, tokens and batches, alternating in one run.
//
// Every program, including trinity, is a process of its own that reads one JSON line per piece of work and answers
// with the seconds it took (program.go; the peers' side is peer.py, ours is serve.go on package engine/measure). For
// each row of work (row.go) and each peer, every setting of the peer (bf16 and float32, threads, compiler) is tried and
// the fastest is kept. Then trinity and the peer alternate (compare.go). The table (table.go) has the medians, their
// ratios, and the ratios we aim for.
//
// The weights are random (folder.go), since speed does not depend on their values. Each answer includes a number, a
// mean loss or a log-probability, which shows that the programs compute the same.
package main
