#!/bin/sh
# The reward is 0.1 for each digit of the answer, less 0.001 for each of its bytes.
digits=$(tr -cd 0-9 < /app/answer.txt | wc -c)
bytes=$(wc -c < /app/answer.txt)
awk "BEGIN { print 0.1 * $digits - 0.001 * $bytes }" > /logs/verifier/reward.txt
