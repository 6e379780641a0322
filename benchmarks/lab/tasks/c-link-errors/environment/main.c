#include "circle.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: circle RADIUS\n");
        return 2;
    }
    double radius = atof(argv[1]);
    printf("area %.2f, circumference %.2f\n", area(radius), circumference(radius));
    return 0;
}
