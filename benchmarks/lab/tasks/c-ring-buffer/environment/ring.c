#include "ring.h"

#include <stdlib.h>

struct ring {
    size_t capacity, first, next;
    int *values;
};

struct ring *ring_new(size_t capacity)
{
    struct ring *ring = malloc(sizeof *ring);
    if (!ring)
        return NULL;
    ring->capacity = capacity;
    ring->first = ring->next = 0;
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
    return (ring->next + ring->capacity - ring->first) % ring->capacity;
}

int ring_push(struct ring *ring, int value)
{
    if ((ring->next + 1) % ring->capacity == ring->first)
        return -1;
    ring->values[ring->next] = value;
    ring->next = (ring->next + 1) % ring->capacity;
    return 0;
}

int ring_pop(struct ring *ring, int *value)
{
    if (ring->first == ring->next)
        return -1;
    *value = ring->values[ring->first];
    ring->first = (ring->first + 1) % ring->capacity;
    return 0;
}

int ring_peek(const struct ring *ring, size_t index, int *value)
{
    if (index > ring_count(ring))
        return -1;
    *value = ring->values[ring->first + index];
    return 0;
}
