package talk

import (
	"bufio"
	"io"
)

// Lines reads lines until the end of r. Its goroutine may still block in a read when the program ends.
func Lines(r io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		scan := bufio.NewScanner(r)
		scan.Buffer(nil, 16<<20)
		for scan.Scan() {
			out <- scan.Text()
		}
	}()
	return out
}
