# docker build -t onmf . && docker run --rm -v "$PWD:/data" onmf cluster table.csv -k auto -o result
FROM python:3.12-slim
COPY . /onmf
RUN pip install --no-cache-dir "/onmf[plot,disk,anndata]" && rm -r /onmf \
    && onmf demo -o /tmp/demo && rm -r /tmp/demo
WORKDIR /data
ENTRYPOINT ["onmf"]
