double circumference(double radius)
{
    return 2 * pi * radius;
}
