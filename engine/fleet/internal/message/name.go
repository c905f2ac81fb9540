package message

import "strconv"

// Names are the subjects, streams and buckets of one job. Job is one token of a subject: letters, digits, - and _.
type Names struct{ Job string }

func (n Names) on(rest string) string { return "trinity." + n.Job + "." + rest }

// Streams and buckets.

// Blobs is the stream of chunks that the head stores.
func (n Names) Blobs() string { return "FLEET_" + n.Job + "_BLOBS" }

// Answers is the stream of chunks that workers store.
func (n Names) Answers() string { return "FLEET_" + n.Job + "_ANSWERS" }

// Presence is the KV bucket of workers.
func (n Names) Presence() string { return "fleet_" + n.Job }

// Subjects. A worker's id is its public key; "*" names all.

// Task carries tasks to a worker.
func (n Names) Task(worker string) string { return n.on("task." + worker) }

// Chunk is a chunk of a blob.
func (n Names) Chunk(hash string, i int) string { return n.on("blob." + hash + "." + strconv.Itoa(i)) }

// Chunks matches all chunks of a blob.
func (n Names) Chunks(hash string) string { return n.on("blob." + hash + ".*") }

// AllChunks matches the chunks of all blobs.
func (n Names) AllChunks() string { return n.on("blob.>") }

// Answer is a chunk of a large answer.
func (n Names) Answer(worker, hash string, i int) string {
	return n.on("answer." + worker + "." + hash + "." + strconv.Itoa(i))
}

// AnswerOf matches the chunks of one answer.
func (n Names) AnswerOf(worker, hash string) string {
	return n.on("answer." + worker + "." + hash + ".*")
}

// AnswersOf matches the chunks of all answers of a worker.
func (n Names) AnswersOf(worker string) string { return n.on("answer." + worker + ".>") }

// AllAnswers matches all chunks of answers.
func (n Names) AllAnswers() string { return n.on("answer.>") }

// Result carries a worker's answers to the head.
func (n Names) Result(worker string) string { return n.on("result." + worker) }

// Announce carries a worker's wish to take part.
func (n Names) Announce(worker string) string { return n.on("announce." + worker) }

// Want carries a worker's request for chunks.
func (n Names) Want(worker string) string { return n.on("want." + worker) }

// Control carries the head's messages to a worker.
func (n Names) Control(worker string) string { return n.on("control." + worker) }

// Pulse carries the head's sign of life to all workers.
func (n Names) Pulse() string { return n.on("pulse") }

// Enrol carries requests for credentials.
func (n Names) Enrol(worker string) string { return n.on("enrol." + worker) }

// Admin carries an operator's requests.
func (n Names) Admin() string { return n.on("admin") }

// Beat is the key of a worker in the KV bucket, as a subject.
func (n Names) Beat(worker string) string { return "$KV." + n.Presence() + "." + worker }

// Inbox is the prefix of the replies to a user.
func (n Names) Inbox(user string) string { return "_INBOX." + user }
