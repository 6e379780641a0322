#ifndef RING_H
#define RING_H

#include <stddef.h>

struct ring;

struct ring *ring_new(size_t capacity);
void ring_free(struct ring *ring);
/* Returns 0, or -1 if the buffer is full. */
int ring_push(struct ring *ring, int value);
/* Takes the oldest element. Returns 0, or -1 if there is none. */
int ring_pop(struct ring *ring, int *value);
/* The element that `index` others are older than. Returns 0, or -1 if there is none. */
int ring_peek(const struct ring *ring, size_t index, int *value);
size_t ring_count(const struct ring *ring);

#endif
