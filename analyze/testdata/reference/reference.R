# Makes reference.json: figures of this package as R and its packages compute
# them, for TestReference… to compare with. The tests do not need R.
#
#   Rscript reference.R > reference.json      (in this folder)
#
# Made with R 4.2.2 and, from Debian 12, MASS 7.3-58.2, quantreg 5.94,
# nnls 1.4, coin 1.4-2, jsonlite 1.8.4.
#
# What has a function in R is computed by it. What has none (the interval of a
# quantile, the split of the tail, requests in flight, the best split of a
# series) is computed from its definition, the plain and slow way.
suppressMessages({library(MASS); library(quantreg); library(nnls); library(coin); library(jsonlite)})
set.seed(20261203)
one <- unbox

# Quantiles, mean and standard deviation.
ps <- c(0, 0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 100)
distribution <- function(name, x) list(
  name = one(name), x = x, p = ps, quantiles = quantile(x, ps / 100, type = 7, names = FALSE),
  mean = one(mean(x)), sd = if (length(x) > 1) one(sd(x)) else NULL)
distributions <- list(
  distribution("one value", 42.5),
  distribution("two values", c(7, 3)),
  distribution("ties", sample(c(1, 2, 2, 3, 5, 8), 40, TRUE)),
  distribution("whole ms", sample(100:9000, 101)),
  distribution("skewed", round(exp(rnorm(120, 7, 1)), 3)),
  distribution("a large offset", 1e9 + round(rexp(50, 0.1), 2)))

# The narrowest ranks l < u of 1..n with P(l <= Binomial(n, p) < u) >= 0.95: of
# equally narrow ones those that cover most, then the lowest.
ranks <- function(n, p) {
  F <- pbinom(0:n, n, p) # F[k + 1] = P(B <= k)
  best <- c(NA, NA)
  for (w in seq_len(n - 1)) {
    l <- seq_len(n - w)
    covered <- F[l + w] - F[l]
    if (max(covered) >= 0.95) {
      l <- l[covered >= max(covered) - 1e-9][1]
      return(c(l, l + w))
    }
  }
  best
}
intervals <- list()
for (p in c(0.1, 10, 50, 75, 90, 95, 99, 99.9)) for (n in c(2, 5, 6, 7, 10, 20, 28, 29, 30, 31, 36, 50, 58, 59, 60, 64, 100, 240, 298, 299, 300, 400, 513, 1000, 2994, 2995, 4999, 5001, 20000)) {
  r <- ranks(n, p / 100)
  intervals <- c(intervals, list(list(n = one(n), p = one(p), l = one(r[1]), u = one(r[2]))))
}

# Mann-Whitney. With ties and small sides: the exact distribution over all deals
# of the ranks, and twice its smaller tail, as without ties.
deals <- function(a, b) {
  r <- rank(c(a, b))
  w <- colSums(matrix(r[combn(length(r), length(a))], length(a)))
  w0 <- sum(r[seq_along(a)])
  min(1, 2 * min(mean(w <= w0 + 1e-9), mean(w >= w0 - 1e-9)))
}
shifted <- function(a, b) { # the same by coin's shift algorithm
  d <- data.frame(y = c(a, b), g = factor(rep(c("a", "b"), c(length(a), length(b)))))
  tail <- function(side) pvalue(wilcox_test(y ~ g, d, distribution = exact("shift"), alternative = side))
  min(1, 2 * min(tail("less"), tail("greater")))
}
test <- function(name, a, b, p) list(name = one(name), a = a, b = b, p = one(p),
  u = one(sum(outer(b, a, ">")) + sum(outer(b, a, "==")) / 2)) # pairs in which b is larger
plain <- function(name, a, b) test(name, a, b, wilcox.test(a, b, exact = TRUE)$p.value)
normal <- function(name, a, b) test(name, a, b, wilcox.test(a, b, exact = FALSE, correct = TRUE)$p.value)
ties <- function(n, most, prob = NULL) sample(seq_len(most), n, TRUE, prob)
a1 <- ties(6, 5); b1 <- ties(9, 5) + 1
a2 <- ties(8, 4, c(6, 2, 1, 1)); b2 <- ties(8, 4, c(1, 1, 2, 6))
a3 <- ties(4, 3); b3 <- c(ties(12, 3), 9, 9, 9, 9)
a4 <- ties(25, 30); b4 <- ties(18, 30) + 5
a5 <- ties(25, 12); b5 <- ties(25, 12)
tests <- list(
  plain("4 + 4", c(1.5, 2.5, 3.5, 6.5), c(4.5, 5.5, 7.5, 8.5)),
  plain("5 + 30", sort(rnorm(5)) + 0.7, rnorm(30)),
  plain("50 + 50", rnorm(50), rnorm(50) + 0.3),
  plain("17 + 50", rexp(17), rexp(50) * 1.6),
  test("6 + 9 with ties", a1, b1, deals(a1, b1)),
  test("8 + 8 with ties", a2, b2, deals(a2, b2)),
  test("4 + 16 with ties", a3, b3, deals(a3, b3)),
  test("25 + 18 with ties", a4, b4, shifted(a4, b4)),
  test("25 + 25 with ties", a5, b5, shifted(a5, b5)),
  normal("51 + 51", rnorm(51), rnorm(51) - 0.4),
  normal("26 + 26 with ties", ties(26, 9), ties(26, 9) + 1),
  normal("5 + 80", rnorm(5) + 1, rnorm(80)),
  normal("200 + 150, whole ms", round(exp(rnorm(200, 7, 0.6))), round(exp(rnorm(150, 7.1, 0.6)))),
  normal("300 + 300, few values", ties(300, 3), ties(300, 3, c(4, 5, 6))))
stopifnot(abs(deals(a1, b1) - shifted(a1, b1)) < 1e-9)

# Spearman's coefficient, and r squared.
x <- c(1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 6); y <- c(60, 58, 58, 51, 60, 44, 47, 47, 40, 31, 33, 30)
u <- round(exp(rnorm(60)), 2); v <- round(u * exp(rnorm(60, 0, 0.8)), 2)
correlations <- lapply(list(list("ties", x, y), list("sixty", u, v)), function(l)
  list(name = one(l[[1]]), x = l[[2]], y = l[[3]], spearman = one(cor(l[[2]], l[[3]], method = "spearman")), r2 = one(cor(l[[2]], l[[3]])^2)))

# Regressions: time = overhead + uncached * b + output * c.
answers <- function(n, overhead, rate, tpot, waits) {
  uncached <- round(exp(rnorm(n, 8, 1.3))); output <- round(exp(rnorm(n, 5.3, 1.1)))
  y <- (overhead + 1000 * uncached / rate + output * tpot) * runif(n, 0.8, 1.2)
  late <- runif(n) < waits
  y[late] <- y[late] * runif(sum(late), 5, 50)
  list(uncached = uncached, output = output, y = round(y))
}
huber <- function(X, y, k, ...) rlm(X, y, psi = psi.huber, k = k, scale.est = "MAD", acc = 1e-12, maxit = 5000, ...)
# The steps that the fit of a model is documented to make, each by a function of
# R: least absolute residuals, without what they show to be waits, then Huber's
# method on the relative times.
steps <- function(X, y) {
  lad <- rq.fit(X, y, tau = 0.5)$coefficients
  at <- drop(X %*% lad); off <- abs(y - at)
  kept <- y - at <= 6 * 1.4826 * median(off) | y <= 3 * at
  e <- at[kept]
  e <- pmax(e, quantile(e, 0.05, names = FALSE), median(e) / 10)
  b <- coef(huber(X[kept, ] / e, y[kept] / e, 1.345))
  stopifnot(b >= 0)
  rest <- y - drop(X %*% b)
  list(lad = lad, kept = one(sum(kept)), beta = b, explained = one(1 - (mad(rest) / mad(y))^2))
}
fits <- lapply(list(list("no waits", answers(150, 2000, 5000, 18, 0)), list("one wait in ten", answers(200, 1600, 9000, 15, 0.1)),
  list("a slow stream", answers(120, 3000, 4000, 60, 0.1))), function(l) {
  d <- l[[2]]; X <- unname(cbind(1, d$uncached, d$output))
  list(name = one(l[[1]]), uncached = d$uncached, output = d$output, y = d$y,
    mad = one(mad(d$y, constant = 1)), huber = unname(coef(huber(X, d$y, 1.345))), steps = lapply(steps(X, d$y), unname))
})
squares <- list()
for (i in 1:8) { # least squares without a negative coefficient
  X <- cbind(1, round(runif(30, 0, 9000)), round(runif(30, 0, 2000)))
  y <- round(pmax(0, X %*% c(c(800, -3000)[1 + i %% 2], c(0.2, -0.3, 0.1)[1 + i %% 3], c(20, 15, -4, 30)[1 + i %% 4]) + rnorm(30, 0, 900)))
  s <- sqrt(colMeans(X^2)) # columns alike, as nnls wants them
  squares <- c(squares, list(list(uncached = X[, 2], output = X[, 3], y = drop(y), beta = nnls(sweep(X, 2, s, "/"), y)$x / s)))
}

# The tail, pooled rates and shares of time.
n <- 60
ttft <- round(exp(rnorm(n, 7, 0.8))); tokens <- round(exp(rnorm(n, 5.5, 1))) + 1
total <- ttft + round(tokens * exp(rnorm(n, 3, 0.3)))
decode <- total - ttft
slow <- total >= quantile(total, 0.9, type = 7)
nS <- mean(tokens[slow]); nT <- mean(tokens[!slow])
sS <- sum(decode[slow]) / sum(tokens[slow]); sT <- sum(decode[!slow]) / sum(tokens[!slow])
# Shapley: the mean over both orders in which the two factors can change.
length_ms <- mean(c(nS * sT - nT * sT, nS * sS - nT * sS)); speed_ms <- mean(c(nS * sS - nS * sT, nT * sS - nT * sT))
tail <- list(ttft = ttft, total = total, tokens = tokens, requests = one(sum(slow)),
  delta = one(mean(total[slow]) - mean(total[!slow])), ttft_ms = one(mean(ttft[slow]) - mean(ttft[!slow])),
  length_ms = one(length_ms), speed_ms = one(speed_ms),
  pooled = one(weighted.mean(tokens / decode * 1000, decode)), prefill_share = one(weighted.mean(ttft / total, total)),
  tps = ps, tps_quantiles = quantile(tokens / decode * 1000, ps / 100, type = 7, names = FALSE))

# Requests in flight: the mean over a request's time of how many are open, on a
# grid as fine as the times (whole ms).
start <- sample(1:400, 40, TRUE); end <- start + sample(5:120, 40, TRUE)
open <- vapply(1:600, function(t) sum(start <= t & t < end), 0) # in [t, t + 1)
crowd <- list(start = start, end = end, mean = mapply(function(s, e) mean(open[s:(e - 1)]), start, end))

# The union of intervals, by marking each ms of it.
from <- sample(0:500, 25, TRUE); to <- from + sample(-5:60, 25, TRUE)
union <- list(from = from, to = to, ms = one(length(unique(unlist(mapply(function(f, t) if (t > f) f:(t - 1), from, to))))))

# The best split of a series: the largest |z| of wilcox.test over all of them.
z <- function(v, k) {
  n <- length(v); a <- k; b <- n - k; t <- table(v)
  w <- unname(wilcox.test(v[1:k], v[-(1:k)], exact = FALSE)$statistic)
  abs(w - a * b / 2) / sqrt(a * b / 12 * (n + 1 - sum(t^3 - t) / (n * (n - 1))))
}
series <- lapply(list(list("a step", c(ties(45, 20), ties(55, 20) + 6)), list("nothing", ties(70, 9))), function(l) {
  v <- l[[2]]; k <- 20:(length(v) - 20); zs <- vapply(k, function(k) z(v, k), 0)
  list(name = one(l[[1]]), v = v, at = one(k[which.max(zs)]), tried = one(length(k)))
})

# A slowdown between prompts of like size: the geometric mean of the ratios of
# medians by power of two, weighted by the smaller side; 5 requests a side.
prompts <- function(n, most) round(exp(runif(n, log(900), log(most))))
ua <- prompts(60, 9000); ub <- prompts(40, 20000)
va <- round(500 + ua * runif(60, 0.2, 0.3)); vb <- round(1.4 * (500 + ub * runif(40, 0.2, 0.3)))
band <- function(u) floor(log2(u))
shared <- Filter(function(k) min(sum(band(ua) == k), sum(band(ub) == k)) >= 5, unique(band(ua)))
stopifnot(length(shared) >= 3)
w <- vapply(shared, function(k) min(sum(band(ua) == k), sum(band(ub) == k)), 0)
ratio <- vapply(shared, function(k) median(vb[band(ub) == k]) / median(va[band(ua) == k]), 0)
like <- list(before_tokens = ua, before_ms = va, after_tokens = ub, after_ms = vb, slowdown = one(exp(weighted.mean(log(ratio), w))))

cat(toJSON(list(made_with = one(R.version.string), distributions = distributions, intervals = intervals, mann_whitney = tests, correlations = correlations,
  fits = fits, squares = squares, tail = tail, in_flight = crowd, union = union, series = series, like_for_like = like), digits = NA, na = "null", null = "null"), "\n")
