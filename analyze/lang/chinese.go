package lang

var chinese = map[string]string{}

var chineseNouns = map[string]string{}
