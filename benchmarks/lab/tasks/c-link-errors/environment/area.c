#include "circle.h"

#include <math.h>

static double pi = 3.14159265358979;

double area(double radius)
{
    return pi * pow(radius, 2);
}
