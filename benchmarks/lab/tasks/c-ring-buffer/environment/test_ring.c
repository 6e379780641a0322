#include "ring.h"

#include <stdio.h>

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); failed = 1; } } while (0)

int main(void)
{
    int failed = 0, value = 0;
    struct ring *ring = ring_new(3);

    CHECK(ring_pop(ring, &value) == -1);
    CHECK(ring_push(ring, 1) == 0);
    CHECK(ring_push(ring, 2) == 0);
    CHECK(ring_push(ring, 3) == 0);
    CHECK(ring_push(ring, 4) == -1);
    CHECK(ring_count(ring) == 3);
    CHECK(ring_pop(ring, &value) == 0 && value == 1);
    CHECK(ring_push(ring, 4) == 0);
    CHECK(ring_peek(ring, 2, &value) == 0 && value == 4);
    CHECK(ring_peek(ring, 3, &value) == -1);
    ring_free(ring);
    puts(failed ? "failed" : "ok");
    return failed;
}
