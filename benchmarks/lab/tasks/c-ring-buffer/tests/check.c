#include "ring.h"

#include <stdio.h>

#define CHECK(what) do { if (!(what)) { printf("check.c, line %d: %s\n", __LINE__, #what); return 1; } } while (0)

int main(void)
{
    int value = 0;
    for (size_t capacity = 1; capacity < 6; capacity++) {
        struct ring *ring = ring_new(capacity);
        for (int round = 0; round < 20; round++) {
            for (size_t i = 0; i < capacity; i++) {
                CHECK(ring_count(ring) == i);
                CHECK(ring_push(ring, round * 10 + (int)i) == 0);
            }
            CHECK(ring_push(ring, 99) == -1);
            CHECK(ring_count(ring) == capacity);
            for (size_t i = 0; i < capacity; i++)
                CHECK(ring_peek(ring, i, &value) == 0 && value == round * 10 + (int)i);
            CHECK(ring_peek(ring, capacity, &value) == -1);
            CHECK(ring_pop(ring, &value) == 0 && value == round * 10);
            CHECK(ring_push(ring, 7) == 0);
            CHECK(ring_peek(ring, capacity - 1, &value) == 0 && value == 7);
            for (size_t i = 0; i < capacity; i++)
                CHECK(ring_pop(ring, &value) == 0);
            CHECK(value == 7);
            CHECK(ring_pop(ring, &value) == -1);
            CHECK(ring_peek(ring, 0, &value) == -1);
        }
        ring_free(ring);
    }
    return 0;
}
