package buffer

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// Priority is the order of a replay buffer: Trinity-RFT's linear_decay and decay_limit_randomization. An experience has
// the priority version − Decay·uses (+ noise of deviation Sigma); the highest is read first, of equal ones the older.
type Priority struct {
	Decay    float64
	Limit    int     // of uses; 0: none
	Sigma    float64 // of the noise, drawn again after each use
	Seed     uint64  // of the noise
	Reuse    bool    // experiences that were read come back, Cooldown later
	Cooldown time.Duration
	Capacity int // lists that were put and may still be read; the lowest is dropped for a better one. 0: any number
}

// order is the ORDER BY of a read.
func (p *Priority) order() string {
	if p == nil {
		return "id"
	}
	return p.rank() + " DESC, id"
}

func (p *Priority) rank() string {
	return fmt.Sprintf("(COALESCE(model_version, 0) - %g * consumed + noise)", p.Decay)
}

// alive is the condition of what may be read now or later.
func (p *Priority) alive() string {
	switch {
	case p == nil || !p.Reuse:
		return "evicted = 0 AND consumed = 0"
	case p.Limit > 0:
		return fmt.Sprintf("evicted = 0 AND consumed < %d", p.Limit)
	}
	return "evicted = 0"
}

// there is the condition of what may be read now. When nothing new is to come, nothing is used again either.
func (s *SQL) there(open bool) string {
	if !open {
		return "evicted = 0 AND consumed = 0"
	}
	return fmt.Sprintf("%s AND ready <= %f", s.first.alive(), seconds(s.now()))
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// ready is when something that is read now may be read again.
func (s *SQL) ready() float64 {
	if s.first == nil {
		return 0
	}
	return seconds(s.now().Add(s.first.Cooldown))
}

// settle makes the experiences that were put last one item, and drops the lowest item when there are too many.
func (s *SQL) settle(ctx context.Context, tx *sql.Tx) error {
	if s.first == nil {
		return nil
	}
	ids, err := column[int64](tx.QueryContext(ctx, `SELECT id FROM `+s.table("")+` WHERE item IS NULL ORDER BY id`))
	if err != nil || len(ids) == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.db.bind(`UPDATE `+s.table("")+` SET item = ? WHERE item IS NULL`),
		ids[0]); err != nil {
		return err
	}
	if err := s.stir(ctx, tx, ids); err != nil {
		return err
	}
	for s.first.Capacity > 0 {
		var items int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(DISTINCT item) FROM `+s.table("")+` WHERE `+
			s.first.alive()).Scan(&items); err != nil {
			return err
		}
		if items <= s.first.Capacity {
			return nil
		}
		var lowest int64 // the first of a list decides for all of it
		if err := tx.QueryRowContext(ctx, `SELECT item FROM `+s.table("")+` WHERE id = item AND `+s.first.alive()+
			` ORDER BY `+s.first.rank()+`, id LIMIT 1`).Scan(&lowest); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.db.bind(`UPDATE `+s.table("")+` SET evicted = 1 WHERE item = ?`),
			lowest); err != nil {
			return err
		}
	}
	return nil
}

// stir draws the noise of experiences anew; it derives from the seed, the experience and its uses. All of a list have
// the same.
func (s *SQL) stir(ctx context.Context, tx *sql.Tx, ids []int64) error {
	if s.first == nil || s.first.Sigma == 0 {
		return nil
	}
	for _, id := range ids {
		var item int64
		var used int
		if err := tx.QueryRowContext(ctx, s.db.bind(`SELECT item, consumed FROM `+s.table("")+` WHERE id = ?`),
			id).Scan(&item, &used); err != nil {
			return err
		}
		stream := rng.New(s.first.Seed).Stream("replay", int(item), used)
		noise := rand.New(&stream).NormFloat64() * s.first.Sigma
		if _, err := tx.ExecContext(ctx, s.db.bind(`UPDATE `+s.table("")+` SET noise = ? WHERE id = ?`), noise,
			id); err != nil {
			return err
		}
	}
	return nil
}
