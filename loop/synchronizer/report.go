package synchronizer

// Report tells explorers of other processes the state of a trainer. Its methods are called by the trainer's goroutine.
type Report struct {
	folder  Folder
	trained int
	last    TrainerStatus // written last
}

// NewReport makes a Report of a trainer that has trained steps up to trained.
func NewReport(f Folder, trained int) *Report { return &Report{folder: f, trained: trained} }

// Trained takes a committed step. It is written with the next status.
func (r *Report) Trained(step int) { r.trained = step }

// Starved says that the trainer waits, and found too few experiences when seen had been put in all.
func (r *Report) Starved(seen int) error {
	return r.write(TrainerStatus{State: Running, Step: r.trained, Idle: true, Seen: seen})
}

// Fed says that the trainer is at work.
func (r *Report) Fed() error { return r.write(TrainerStatus{State: Running, Step: r.trained}) }

// End says that the trainer is done, or interrupted.
func (r *Report) End(done bool) error {
	if done {
		return r.write(TrainerStatus{State: Done, Step: r.trained})
	}
	return r.write(TrainerStatus{State: Interrupted, Step: r.trained})
}

func (r *Report) write(s TrainerStatus) error {
	if s == r.last {
		return nil
	}
	r.last = s
	return r.folder.WriteTrainer(s)
}
