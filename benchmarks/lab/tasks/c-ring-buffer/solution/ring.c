#include "ring.h"

#include <stdlib.h>

struct ring {
    size_t capacity, first, count;
    int *values;
};

struct ring *ring_new(size_t capacity)
{
    struct ring *ring = malloc(sizeof *ring);
    if (!ring)
        return NULL;
    ring->capacity = capacity;
    ring->first = ring->count = 0;
    ring->values = malloc(capacity * sizeof *ring->values);
    if (!ring->values) {
        free(ring);
        return NULL;
    }
    return ring;
}

void ring_free(struct ring *ring)
{
    free(ring->values);
    free(ring);
}

size_t ring_count(const struct ring *ring)
{
    return ring->count;
}

int ring_push(struct ring *ring, int value)
{
    if (ring->count == ring->capacity)
        return -1;
    ring->values[(ring->first + ring->count) % ring->capacity] = value;
    ring->count++;
    return 0;
}

int ring_pop(struct ring *ring, int *value)
{
    if (!ring->count)
        return -1;
    *value = ring->values[ring->first];
    ring->first = (ring->first + 1) % ring->capacity;
    ring->count--;
    return 0;
}

int ring_peek(const struct ring *ring, size_t index, int *value)
{
    if (index >= ring->count)
        return -1;
    *value = ring->values[(ring->first + index) % ring->capacity];
    return 0;
}
