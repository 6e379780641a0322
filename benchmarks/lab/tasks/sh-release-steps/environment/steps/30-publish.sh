echo publishing
